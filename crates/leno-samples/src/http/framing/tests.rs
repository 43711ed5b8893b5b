use super::super::head::{Head, Refused};
use super::Framing;

fn of(headers: &str) -> Result<Framing, u16> {
    let text = format!("POST / HTTP/1.1\r\n{headers}\r\n");
    let (head, length) = Head::parse(text.as_bytes()).unwrap().unwrap();
    assert_eq!(length, text.len());
    Framing::of_request(&head.headers, 1000).map_err(|Refused(status)| status)
}

#[test]
fn a_body_has_one_end_or_is_refused() {
    assert_eq!(of(""), Ok(Framing::Length(0)));
    assert_eq!(of("content-length: 7\r\n"), Ok(Framing::Length(7)));
    assert_eq!(of("Content-Length: 7\r\nCONTENT-LENGTH: 7\r\n"), Ok(Framing::Length(7)));
    assert_eq!(of("transfer-encoding: Chunked\r\n"), Ok(Framing::Chunked));
    for (headers, status) in [
        ("content-length: 7\r\ncontent-length: 8\r\n", 400),
        ("content-length: 7, 7\r\n", 400),
        ("content-length: +7\r\n", 400),
        ("content-length: -7\r\n", 400),
        ("content-length:\r\n", 400),
        ("content-length: 99999999999999999999\r\n", 400),
        ("content-length: 7\r\ntransfer-encoding: chunked\r\n", 400),
        ("transfer-encoding: gzip, chunked\r\n", 501),
        ("transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n", 501),
        ("content-length: 1001\r\n", 413),
    ] {
        assert_eq!(of(headers), Err(status), "{headers}");
    }
}

#[test]
fn heads_are_whole_or_refused() {
    assert_eq!(Head::parse(b"GET / HTTP/1.1\r\nhost: a"), Ok(None));
    assert_eq!(Head::parse(b"GET / HTTP/2.0\r\n\r\n"), Err(Refused(505)));
    assert_eq!(Head::parse(b"\x16\x03\x01\x02"), Err(Refused(400)));
    let many = "a: b\r\n".repeat(65);
    let many = Head::parse(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes());
    assert_eq!(many, Err(Refused(431)));
}
