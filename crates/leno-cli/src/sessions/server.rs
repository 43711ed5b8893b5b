//! The page over HTTP: leno's own coroutines and sockets; `httparse` reads the heads.
//!
//! - `GET /` says what this is; `POST /` begins a dialogue and leads to its page.
//! - `GET /s/ID` shows it; `POST /s/ID` answers. A form that is sent twice answers once: its key is the sequence of the
//!   question it was made for.
//!
//! The server remembers nothing: kill it, and the next one goes on. If its worker ends, it says so at once and ends, too.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use leno::io::net::TcpListener;
use leno::kernel::{LocalSystem, sleep};
use leno::session::{SessionError, SessionId, Sessions, State};
use leno_samples::http::{self, Answer, Limits, Request};
use leno_samples::serve::{self, note, stop};

use super::limit::{Limit, Rate};
use super::{Failure, page, questionnaire};
use crate::output::tell;

/// What a request may have, and how long it may take.
const LIMITS: Limits = Limits {
    server: serve::Limits { connections: 256, per_client: 64, grace: Duration::from_secs(5) },
    head_bytes: 8 * 1024,
    body_bytes: 16 * 1024,
    idle: Duration::from_secs(15),
    head: Duration::from_secs(5),
    stall: Duration::from_secs(5),
    request: Duration::from_secs(30),
};

/// Requests of one client; a page is one.
const REQUESTS: Rate = Rate { per_second: 20.0, burst: 60.0 };
const REQUESTS_OF_ALL: Rate = Rate { per_second: 500.0, burst: 1000.0 };

/// Dialogues that one client begins.
const STARTS: Rate = Rate { per_second: 1.0, burst: 10.0 };
const STARTS_OF_ALL: Rate = Rate { per_second: 20.0, burst: 100.0 };

/// How many clients are remembered.
const CLIENTS: usize = 10_000;

pub(super) fn serve(sessions: Sessions, address: SocketAddr) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
    let address = listener.local_addr()?;
    tell!("listening at http://{address}");
    if !address.ip().is_loopback() {
        note(format_args!("note: others can reach this address, and nothing is encrypted"));
    }
    let system = LocalSystem::new();
    let (stop, stopped) = stop();
    let end = Arc::new(AtomicBool::new(false));
    let (worker, worker_ends) = (sessions.clone(), end.clone());
    let (watched, watch_ends) = (sessions.clone(), end.clone());
    let told = system.spawn(move || {
        let _told = stop.on_signal();
        end.store(true, Relaxed);
    });
    // What a killed server has left half-way.
    let worked = system.spawn(move || {
        let worked = worker.work(&worker_ends);
        if let Err(error) = &worked {
            worker_ends.store(true, Relaxed);
            // It has the order to stop, which is given when that is dropped.
            told.cancel();
            note(format_args!("the worker has ended, and so does the page: {error}"));
        }
        worked
    });
    drop(system.spawn(move || watch(&watched, &watch_ends)));
    let site = Site {
        sessions,
        address,
        requests: Limit::new(REQUESTS, REQUESTS_OF_ALL, CLIENTS),
        starts: Limit::new(STARTS, STARTS_OF_ALL, CLIENTS),
    };
    drop(system.spawn(move || {
        http::serve(listener, &stopped, &LIMITS, |request, answer| site.handle(request, answer))
    }));
    system.run()?;
    Ok(worked.join()??)
}

/// Says when the store fails, when it works again, and when a session was quarantined.
fn watch(sessions: &Sessions, end: &AtomicBool) {
    let (mut was_well, mut quarantined) = (true, 0);
    while !end.load(Relaxed) {
        let health = sessions.health();
        match &health.error {
            Some(error) if was_well => note(format_args!("{error}; trying again")),
            None if !was_well => note(format_args!("the store works again")),
            _ => {}
        }
        was_well = health.error.is_none();
        let now = sessions.metrics().quarantined;
        if std::mem::replace(&mut quarantined, now) != now {
            note(format_args!(
                "a dialogue was quarantined: `leno sessions list quarantined` says why"
            ));
        }
        sleep(Duration::from_millis(200));
    }
}

struct Site {
    sessions: Sessions,
    address: SocketAddr,
    requests: Limit,
    starts: Limit,
}

/// A status, and a page or where to go.
enum Reply {
    Page(u16, String),
    Elsewhere(String),
}

fn wrong(status: u16, text: &str) -> Reply {
    Reply::Page(status, page::problem(text))
}

impl Site {
    fn handle(&self, request: &mut Request<'_>, mut answer: Answer<'_>) -> io::Result<()> {
        let reply = if self.requests.take(client(request)) {
            self.reply(request).unwrap_or_else(|error| match error {
                SessionError::NoSession(_) => wrong(404, "There is no such dialogue."),
                SessionError::Ended(..) => wrong(409, "This dialogue has come to an end."),
                error => {
                    note(format_args!("{error}"));
                    wrong(503, "The dialogues cannot be reached at the moment. Nothing is lost; try again.")
                }
            })
        } else {
            wrong(429, "Too many requests. Wait a moment.")
        };
        for (name, value) in page::HEADERS {
            answer = answer.header(name, value);
        }
        if let Reply::Page(429, _) = reply {
            answer = answer.header("retry-after", 1);
        }
        match reply {
            Reply::Page(status, text) => answer.send(status, text),
            Reply::Elsewhere(path) => answer.header("location", path).send(303, ""),
        }
    }

    fn reply(&self, request: &mut Request<'_>) -> Result<Reply, SessionError> {
        if !self.is_for_us(request) {
            return Ok(wrong(421, "This server is not called that."));
        }
        let (method, target) = (request.head.method.clone(), request.head.target.clone());
        let session = target.strip_prefix("/s/").map(str::parse::<SessionId>);
        match (method.as_str(), target.as_str(), session) {
            ("GET" | "HEAD", "/", _) => Ok(Reply::Page(200, page::welcome())),
            ("POST", "/", _) if !self.starts.take(client(request)) => {
                Ok(wrong(429, "Too many dialogues at once. Wait a moment."))
            }
            ("POST", "/", _) => {
                let id = self.sessions.start(questionnaire::NAME, &())?;
                self.sessions.run(id)?;
                Ok(Reply::Elsewhere(format!("/s/{id}")))
            }
            ("GET" | "HEAD", _, Some(Ok(id))) => {
                let mut row = self.sessions.show(id)?;
                if matches!(row.state, State::Ready | State::Leased) {
                    row = self.sessions.run_for(id, Duration::from_secs(5)).unwrap_or(row);
                }
                Ok(Reply::Page(200, page::dialogue(&row, None)))
            }
            ("POST", _, Some(Ok(id))) => self.answer(id, request),
            ("GET" | "HEAD" | "POST", ..) => Ok(wrong(404, "There is no such page.")),
            _ => Ok(wrong(405, "That cannot be done here.")),
        }
    }

    fn answer(&self, id: SessionId, request: &mut Request<'_>) -> Result<Reply, SessionError> {
        let mut body = String::new();
        if request.body.read_to_string(&mut body).is_err() {
            return Ok(wrong(400, "The form cannot be read."));
        }
        let (Some(text), Some(sequence)) = (field(&body, "answer"), field(&body, "sequence"))
        else {
            return Ok(wrong(400, "The form has no answer."));
        };
        let row = self.sessions.show(id)?;
        let sequence = sequence.parse::<u64>().ok();
        // Of an earlier question, or sent twice: what there is to see is what it says now.
        if sequence == Some(row.sequence) && !row.state.has_ended() {
            let text = match questionnaire::check(&text) {
                Ok(text) => text,
                Err(reason) => {
                    let reason = format!("Please try again: {reason}.");
                    return Ok(Reply::Page(422, page::dialogue(&row, Some(&reason))));
                }
            };
            let key = format!("page {}", row.sequence);
            self.sessions.answer_once(id, &key, text.as_bytes())?;
            self.sessions.run(id)?;
        }
        Ok(Reply::Elsewhere(format!("/s/{id}")))
    }

    /// Whether the request was meant for this server, and a form came from one of its pages: another site's page may
    /// know our address, or give itself a name that leads here.
    fn is_for_us(&self, request: &Request<'_>) -> bool {
        let headers = &request.head.headers;
        let host = headers.get("host").unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
        let is_loopback =
            name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        if self.address.ip().is_loopback() && !is_loopback {
            return false;
        }
        // A page without a referrer has the origin `null`, our own pages among them; then the browser says otherwise.
        let is_own = |origin: &str| origin.split_once("://").is_some_and(|(_, of)| of == host);
        let is_same_site =
            headers.get("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
        let origin = headers.get("origin").filter(|origin| *origin != "null");
        request.head.method != "POST" || (is_same_site && origin.is_none_or(is_own))
    }
}

/// Whose request this is.
fn client(request: &Request<'_>) -> IpAddr {
    request.peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip())
}

/// A field of a form.
fn field(form: &str, name: &str) -> Option<String> {
    let value =
        form.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?.1;
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_of_forms() {
        let form = "answer=John+Doe%21%C3%A4&sequence=3&bad=%zz&cut=%4";
        assert_eq!(field(form, "answer").as_deref(), Some("John Doe!ä"));
        assert_eq!(field(form, "sequence").as_deref(), Some("3"));
        for name in ["bad", "cut", "none"] {
            assert_eq!(field(form, name), None);
        }
    }
}
