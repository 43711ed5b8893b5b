use super::super::head::{Head, Refused};
use super::Framing;

fn of(headers: &str) -> Result<Framing, u16> {
    let text = format!("POST / HTTP/1.1\r\n{headers}\r\n");
    let mut head = Head::default();
    assert_eq!(head.read(text.as_bytes()), Ok(Some(text.len())));
    Framing::of_request(&head, 1000).map_err(|Refused(status)| status)
}

/// Only spaces and tabs may stand around a value: a proxy takes other white space for a part of it.
#[test]
fn white_space_of_other_alphabets_is_no_space() {
    assert_eq!(of("content-length: \t7 \t\r\n"), Ok(Framing::Length(7)));
    for space in ["\u{a0}", "\u{85}", "\u{3000}", "\u{2003}"] {
        assert_eq!(of(&format!("transfer-encoding: {space}chunked\r\n")), Err(501), "{space:?}");
        assert_eq!(of(&format!("transfer-encoding: chunked{space}\r\n")), Err(501), "{space:?}");
        assert_eq!(of(&format!("content-length: 5{space}\r\n")), Err(400), "{space:?}");
        let mut head = Head::default();
        let text = format!("GET / HTTP/1.1\r\nconnection: {space}close\r\n\r\n");
        assert_eq!(head.read(text.as_bytes()), Ok(Some(text.len())));
        assert!(head.keeps_alive() && !head.headers.has("connection", "close"));
    }
}

#[test]
fn chunks_of_http_1_0_are_refused() {
    let mut head = Head::default();
    let text = b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(head.read(text), Ok(Some(text.len())));
    assert_eq!(Framing::of_request(&head, 1000), Err(Refused(400)));
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
    let mut head = Head::default();
    assert_eq!(head.read(b"GET / HTTP/1.1\r\nhost: a"), Ok(None));
    assert_eq!(head.read(b"GET / HTTP/2.0\r\n\r\n"), Err(Refused(505)));
    assert_eq!(head.read(b"\x16\x03\x01\x02"), Err(Refused(400)));
    let many = "a: b\r\n".repeat(65);
    let many = head.read(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes());
    assert_eq!(many, Err(Refused(431)));
}

/// Nothing of one request is left when the next is read.
#[test]
fn a_head_is_read_again_and_again() {
    let mut head = Head::default();
    let first = b"POST /long/target HTTP/1.0\r\nHost: a\r\nAccept:  b, C \r\naccept: d\r\n\r\nrest";
    assert_eq!(head.read(first), Ok(Some(first.len() - 4)));
    assert_eq!((head.method.as_str(), head.target.as_str()), ("POST", "/long/target"));
    let all: Vec<_> = head.headers.iter().collect();
    assert_eq!(all, [("Host", "a"), ("Accept", "b, C"), ("accept", "d")]);
    assert!(head.headers.all("ACCEPT").eq(["b, C", "d"]) && head.headers.has("accept", "c"));
    assert_eq!(head.headers.get("host"), Some("a"));
    assert_eq!(format!("{:?}", head.headers), r#"{"Host": "a", "Accept": "b, C", "accept": "d"}"#);
    assert!(!head.keeps_alive());
    assert_eq!(head.read(b"GET / HTTP/1.1\r\nx: y\r\n\r\n"), Ok(Some(24)));
    assert_eq!((head.method.as_str(), head.target.as_str(), head.version), ("GET", "/", 1));
    assert!(head.headers.iter().eq([("x", "y")]) && head.keeps_alive());
}
