//! Where the body of a message ends.
//!
//! A head that could be read in two ways is refused: where a proxy and a server disagree about the end of
//! a request, the rest of it is another request that nobody has checked.

use super::head::{Head, Headers, Refused};

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// Where its chunks say so.
    Chunked,
    /// Where the connection ends; answers only.
    UntilEnd,
}

impl Framing {
    /// Of a request. HTTP/1.0 knows no chunks: whoever has passed them on may have taken them for other requests.
    pub(super) fn of_request(head: &Head, most: u64) -> Result<Framing, Refused> {
        match Framing::find(&head.headers)? {
            Some(Framing::Chunked) if head.version == 0 => Err(Refused(400)),
            None => Ok(Framing::Length(0)),
            Some(Framing::Length(length)) if length > most => Err(Refused(413)),
            Some(framing) => Ok(framing),
        }
    }

    /// Of an answer with this status.
    pub(super) fn of_answer(headers: &Headers, status: u16) -> Result<Framing, Refused> {
        match status {
            100..200 | 204 | 304 => Ok(Framing::Length(0)),
            _ => Ok(Framing::find(headers)?.unwrap_or(Framing::UntilEnd)),
        }
    }

    fn find(headers: &Headers) -> Result<Option<Framing>, Refused> {
        let mut codings = headers.all("transfer-encoding");
        let mut lengths = headers.all("content-length");
        match (codings.next(), lengths.next()) {
            (None, None) => Ok(None),
            (Some(coding), None) => match codings.next() {
                None if coding.eq_ignore_ascii_case("chunked") => Ok(Some(Framing::Chunked)),
                _ => Err(Refused(501)),
            },
            // `parse` alone would also take a sign.
            (None, Some(length)) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                match length.parse() {
                    Ok(number) if lengths.all(|other| other == length) => {
                        Ok(Some(Framing::Length(number)))
                    }
                    _ => Err(Refused(400)),
                }
            }
            _ => Err(Refused(400)),
        }
    }
}

#[cfg(test)]
mod tests;
