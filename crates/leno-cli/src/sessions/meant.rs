//! Which session is meant by an id, or by the first digits of one.
//!
//! For the terminal only: there the whole store is open anyway. The page takes whole ids, since knowing one is the
//! right to read and answer.

use std::str::FromStr;

use leno::session::{Query, Row, SessionError, SessionId, Sessions};

use super::Failure;

/// How many are named where several are meant.
const SHOWN: usize = 3;

/// The first digits of an id, or all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Meant(String);

impl FromStr for Meant {
    type Err = String;

    fn from_str(text: &str) -> Result<Meant, String> {
        match text.len() {
            1..=32 if text.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                Ok(Meant(text.to_ascii_lowercase()))
            }
            _ => {
                let wrong = SessionError::NotAnId(text.chars().take(64).collect());
                Err(format!("{wrong}, of which the first few will do"))
            }
        }
    }
}

impl Meant {
    /// The one session whose id begins so.
    pub(super) fn id(&self, sessions: &Sessions) -> Result<SessionId, Failure> {
        let Meant(digits) = self;
        if digits.len() == 32 {
            return Ok(digits.parse()?);
        }
        let first = u128::from_str_radix(&format!("{digits:0<32}"), 16)?;
        let before = first.checked_sub(1).map(|id| SessionId::from_bytes(id.to_be_bytes()));
        let query = Query { after: before, limit: SHOWN + 1, ..Query::default() };
        let found: Vec<String> = sessions.list(&query)?.iter().map(id_of).collect();
        let meant: Vec<&str> =
            found.iter().map(String::as_str).filter(|id| id.starts_with(digits)).collect();
        match meant[..] {
            [] => Err(format!("no session has an id that begins with {digits}").into()),
            [one] => Ok(one.parse()?),
            _ => {
                let shown = meant[..meant.len().min(SHOWN)].join("\n  ");
                let more = if meant.len() > SHOWN { "\n  .." } else { "" };
                Err(format!("several ids begin with {digits}; give more of it:\n  {shown}{more}")
                    .into())
            }
        }
    }
}

fn id_of(row: &Row) -> String {
    row.id.to_string()
}
