//! The command line.

use std::path::PathBuf;

use crate::bench::{self, Bench, Scale};
use crate::contender::Contender;
use crate::outcome::SUBJECT;

#[cfg(test)]
mod tests;

/// In a file of its own because the `leno` command shows it too, without building this one.
pub const HELP: &str = include_str!("help.txt");

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Request {
    Help,
    List,
    Measure(Options),
}

#[derive(Debug, PartialEq)]
pub struct Options {
    pub scale: Scale,
    pub only: Vec<String>,
    pub peers: Peers,
    pub json: Option<PathBuf>,
    pub svg: Option<PathBuf>,
    pub html: Option<PathBuf>,
    pub rows: Option<PathBuf>,
}

/// Which contenders take part beside leno.
#[derive(Debug, PartialEq)]
pub enum Peers {
    All,
    Named(Vec<String>),
}

impl Peers {
    pub fn admits(&self, contender: &Contender) -> bool {
        let Self::Named(names) = self else { return true };
        // A contender's first word says who it is, the others how: `tokio kanal` is tokio's.
        let is =
            |name: &str| contender.name == name || contender.name.split(' ').next() == Some(name);
        let listed = |n: &String| is(n) || (n == "crates" && !contender.external);
        is(SUBJECT) || names.iter().any(listed)
    }
}

impl Options {
    /// The benches asked for, in their usual order.
    pub fn benches(&self) -> Result<Vec<&'static Bench>, String> {
        for name in &self.only {
            if !bench::all().iter().any(|b| b.name.starts_with(name)) {
                let known: Vec<&str> = bench::all().iter().map(|b| b.name).collect();
                return Err(format!("no bench starts with {name}; there are {}", known.join(", ")));
            }
        }
        let wanted = |b: &&Bench| {
            self.only.is_empty() || self.only.iter().any(|name| b.name.starts_with(name))
        };
        Ok(bench::all().iter().filter(wanted).collect())
    }
}

/// Reads the arguments after the program's name.
pub fn parse(args: &[String]) -> Result<Request, String> {
    let mut options = Options {
        scale: Scale::Full,
        only: vec![],
        peers: Peers::All,
        json: None,
        svg: None,
        html: None,
        rows: None,
    };
    let mut list = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().cloned().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--help" | "-h" => return Ok(Request::Help),
            "--list" => list = true,
            "--quick" => options.scale = Scale::Quick,
            "--only" => options.only.push(value()?),
            "--peers" => options.peers = peers(&value()?)?,
            "--json" => options.json = Some(value()?.into()),
            "--svg" => options.svg = Some(value()?.into()),
            "--html" => options.html = Some(value()?.into()),
            "--rows" => options.rows = Some(value()?.into()),
            other => return Err(format!("{other} is not an option")),
        }
    }
    Ok(if list { Request::List } else { Request::Measure(options) })
}

fn peers(list: &str) -> Result<Peers, String> {
    let names: Vec<String> = list.split(',').map(|n| n.trim().to_owned()).collect();
    for name in &names {
        if !bench::PEERS.contains(&name.as_str()) && name != "crates" && name != "none" {
            let known = bench::PEERS.join(", ");
            return Err(format!("{name} is not a peer; there are crates, none, {known}"));
        }
    }
    Ok(Peers::Named(names))
}
