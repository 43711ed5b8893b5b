//! An agent that visits three processes and comes home with what it saw. It is stored in one, sent through
//! a pipe, and goes on in the next; what belongs to a host stays there and is lent to it.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::{env, io};

use leno::frame::{Co, Format, Image, Options, Resumable, State, resumable};

/// What a host lends to its guests.
struct Host {
    name: String,
    goods: Vec<(&'static str, u32)>,
}

/// Suspends with where it wants to go next.
type Journey = Co<String, (), Host>;
type Agent = Resumable<String, (), Vec<String>, Host>;

#[resumable]
async fn cheapest(co: &mut Journey, wanted: String) -> Option<u32> {
    co.ctx().goods.iter().filter(|(name, _)| *name == wanted).map(|(_, price)| *price).min()
}

#[resumable]
async fn shopping(co: &mut Journey, wanted: String, hosts: Vec<String>) -> Vec<String> {
    let mut seen = Vec::new();
    for host in hosts {
        co.suspend(host).await;
        let price = cheapest(co, wanted.clone()).await;
        let name = &co.ctx().name;
        let price = price.map_or("no price".into(), |price| price.to_string());
        seen.push(format!("{wanted} in {name}: {price}"));
    }
    co.suspend("home".into()).await;
    seen
}

fn host(name: &str) -> Host {
    let goods: &[_] = match name {
        "athens" => &[("olives", 3), ("wool", 9), ("olives", 2)],
        "byzantium" => &[("wool", 4)],
        "carthage" => &[("olives", 1)],
        _ => &[],
    };
    Host { name: name.into(), goods: goods.into() }
}

/// An agent comes by standard input and leaves by standard output.
fn visit(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let image = Image::from_bytes(bytes)?;
    let mut agent: Agent = Resumable::restore(shopping, &image, &Options::new())?;
    agent.resume(&mut host(name), ());
    Ok(io::stdout().write_all(agent.snapshot(Format::Postcard)?.as_bytes())?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(name) = env::args().nth(1) {
        return visit(&name);
    }
    let hosts = ["athens", "byzantium", "carthage"].map(String::from).to_vec();
    let (mut agent, _) =
        Resumable::start(&mut host("home"), shopping, ("olives".into(), hosts.clone()));
    for host in &hosts {
        let bytes = agent.snapshot(Format::Postcard)?.into_bytes();
        println!("{} bytes go to {host}", bytes.len());
        let mut process = Command::new(env::current_exe()?);
        let mut process = process.arg(host).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        process.stdin.take().expect("a pipe").write_all(&bytes)?;
        let image = Image::from_bytes(process.wait_with_output()?.stdout)?;
        agent = Resumable::restore(shopping, &image, &Options::new())?;
    }
    if let State::Complete(seen) = agent.resume(&mut host("home"), ()) {
        seen.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}
