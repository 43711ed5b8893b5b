//! What a request begins with.

use std::mem::MaybeUninit;
use std::str;

/// As many headers may a head have.
pub(super) const MOST_HEADERS: usize = 64;

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// `GET`, say.
    pub method: String,
    /// What is wanted: a path, mostly, with its query.
    pub target: String,
    /// Of HTTP/1: 0 or 1.
    pub version: u8,
    /// In order.
    pub headers: Headers,
}

/// Headers, by name in whatever case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

/// What is wrong with a request: the status that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) u16);

impl Head {
    /// The head that these bytes begin with, and how long it is; `None` if there is more to come.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Refused> {
        let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(bytes, &mut headers) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Refused(431)),
            Err(httparse::Error::Version) => return Err(Refused(505)),
            Err(_) => return Err(Refused(400)),
        };
        let head = Head {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            version: request.version.unwrap_or(1),
            headers: Headers::of(request.headers).ok_or(Refused(400))?,
        };
        Ok(Some((head, length)))
    }

    /// Whether another request may follow on the connection, as far as the client is concerned.
    pub(super) fn keeps_alive(&self) -> bool {
        match self.version {
            0 => self.headers.has("connection", "keep-alive"),
            _ => !self.headers.has("connection", "close"),
        }
    }
}

impl Headers {
    /// What the parser has found; `None` if it is no text.
    pub(super) fn of(parsed: &[httparse::Header<'_>]) -> Option<Headers> {
        let text = |header: &httparse::Header<'_>| {
            Some((header.name.to_owned(), str::from_utf8(header.value).ok()?.trim().to_owned()))
        };
        parsed.iter().map(text).collect::<Option<_>>().map(Headers)
    }

    /// The first with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All with this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// Whether a header that lists words lists this one.
    pub fn has(&self, name: &str, word: &str) -> bool {
        let mut words = self.all(name).flat_map(|value| value.split(','));
        words.any(|own| own.trim().eq_ignore_ascii_case(word))
    }
}
