//! A recursive walk through a tree, stored half-way: each call that has not returned is a frame, and each
//! frame holds the part of the tree that is still to be visited.

use leno::frame::{Co, Format, Image, Iterate, Options, Resumable, iterate, resumable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Node {
    left: Option<Box<Node>>,
    value: char,
    right: Option<Box<Node>>,
}

fn tree(letters: &[char]) -> Option<Box<Node>> {
    let (middle, rest) = (letters.len() / 2, letters.get(letters.len() / 2 + 1..)?);
    let (left, right) = (tree(&letters[..middle]), tree(rest));
    Some(Box::new(Node { left, value: letters[middle], right }))
}

#[resumable]
async fn walk(co: &mut Co<char>, tree: Option<Box<Node>>) {
    if let Some(node) = tree {
        let Node { left, value, right } = *node;
        walk(co, left).await;
        co.suspend(value).await;
        walk(co, right).await;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let letters: Vec<char> = ('a'..='o').collect();
    let mut walking = iterate(walk, (tree(&letters),));
    println!("before: {}", walking.by_ref().take(5).collect::<String>());

    let resumable = walking.resumable().expect("it has started");
    println!("frames: {}", resumable.depth());
    let image = resumable.snapshot(Format::Json)?;
    let outermost = &image.frames()?[0];
    println!(
        "the outermost is {} at `{}`",
        outermost.function,
        outermost.point.split('~').next().unwrap_or("")
    );
    let bytes = resumable.snapshot(Format::Postcard)?.into_bytes();
    println!("bytes: {}", bytes.len());
    drop(walking);

    let image = Image::from_bytes(bytes)?;
    let walking = Iterate::from(Resumable::restore(walk, &image, &Options::new())?);
    println!("after: {}", walking.collect::<String>());
    Ok(())
}
