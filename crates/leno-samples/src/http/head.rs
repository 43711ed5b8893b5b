//! What a request begins with.
//!
//! A connection has one [`Head`], which it reads again and again: its texts keep their room, so that a
//! request costs no memory that is found and given back.

use std::fmt;
use std::mem::MaybeUninit;
use std::str;

/// As many headers may a head have.
pub(super) const MOST_HEADERS: usize = 64;

/// What may stand around a value. Other white space is a part of it, as it is for a proxy.
const SPACE: [char; 2] = [' ', '\t'];

/// The head of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    /// Each name, followed by its value.
    text: String,
    /// Where in there each name ends, and its value.
    ends: Vec<(usize, usize)>,
}

/// What is wrong with a request: the status that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) u16);

impl Head {
    /// Reads the head that these bytes begin with: how long it is, or `None` if there is more to come. Unless
    /// it is whole, nothing is said of what this is then.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Option<usize>, Refused> {
        let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(bytes, &mut headers) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Refused(431)),
            Err(httparse::Error::Version) => return Err(Refused(505)),
            Err(_) => return Err(Refused(400)),
        };
        replace(&mut self.method, request.method.unwrap_or_default());
        replace(&mut self.target, request.path.unwrap_or_default());
        self.version = request.version.unwrap_or(1);
        self.headers.read(request.headers).ok_or(Refused(400))?;
        // A server behind this one might choose the other of two.
        if self.headers.all("host").nth(1).is_some() {
            return Err(Refused(400));
        }
        Ok(Some(length))
    }

    /// Whether another request may follow on the connection, as far as the client is concerned.
    pub(super) fn keeps_alive(&self) -> bool {
        match self.version {
            0 => self.headers.has("connection", "keep-alive"),
            _ => !self.headers.has("connection", "close"),
        }
    }
}

fn replace(text: &mut String, by: &str) {
    text.clear();
    text.push_str(by);
}

impl Headers {
    /// Takes what the parser has found; `None` if it is no text.
    pub(super) fn read(&mut self, parsed: &[httparse::Header<'_>]) -> Option<()> {
        self.text.clear();
        self.ends.clear();
        for header in parsed {
            self.text.push_str(header.name);
            let name = self.text.len();
            self.text.push_str(str::from_utf8(header.value).ok()?.trim_matches(SPACE));
            self.ends.push((name, self.text.len()));
        }
        Some(())
    }

    /// All of them, name and value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut begin = 0;
        self.ends.iter().map(move |&(name, value)| {
            let header = (&self.text[begin..name], &self.text[name..value]);
            begin = value;
            header
        })
    }

    /// The first with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All with this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value)
    }

    /// Whether a header that lists words lists this one.
    pub fn has(&self, name: &str, word: &str) -> bool {
        let mut words = self.all(name).flat_map(|value| value.split(','));
        words.any(|own| own.trim_matches(SPACE).eq_ignore_ascii_case(word))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
