//! A coroutine whose frames hold a bit of everything, and what must be true of any bytes said to be an image of it.

use std::collections::BTreeMap;

use leno_frame::{Co, Format, Image, Options, Resumable, Shared, State, resumable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) enum Tree {
    Leaf,
    Node(Box<Tree>, u8, Box<Tree>),
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct Everything {
    text: String,
    numbers: Vec<u64>,
    map: BTreeMap<String, Option<i32>>,
    tree: Tree,
    nested: Vec<Vec<(bool, char, f64)>>,
    units: Vec<()>,
}

fn everything() -> Everything {
    let leaf = || Box::new(Tree::Leaf);
    Everything {
        text: "some text".into(),
        numbers: vec![1, 300, u64::MAX],
        map: [("a".to_owned(), Some(-1)), ("b".to_owned(), None)].into(),
        tree: Tree::Node(leaf(), 3, Box::new(Tree::Node(leaf(), 4, leaf()))),
        nested: vec![vec![(true, 'x', 1.5)], vec![]],
        units: vec![(); 3],
    }
}

#[resumable]
async fn inner(co: &mut Co<u32, u32>, list: Shared<Vec<u32>>, depth: u32) -> u32 {
    let all = everything();
    if depth > 0 {
        let below = inner(co, list.clone(), depth - 1).await;
        return below.wrapping_add(all.numbers.len() as u32 + list.len() as u32);
    }
    let got = co.suspend(depth).await;
    got.wrapping_add(all.text.len() as u32)
}

#[resumable]
pub(crate) async fn outer(co: &mut Co<u32, u32>) -> u32 {
    let list = Shared::new(vec![1, 2, 3]);
    let mut sum = 0u32;
    for item in 0..2u32 {
        sum = sum.wrapping_add(item).wrapping_add(inner(co, list.clone(), 2).await);
    }
    sum
}

/// An image as this build writes it, with the value it is suspended with.
pub(crate) fn honest(format: Format) -> Vec<u8> {
    let (mut co, _) = Resumable::start(&mut (), outer, ());
    co.snapshot_with(format, &7).expect("it can be stored").into_bytes()
}

/// Whatever the bytes, they are restored or refused. What was restored can be stored again, in both formats, and gone
/// on with. Says whether it was restored.
pub(crate) fn try_bytes(bytes: Vec<u8>) -> bool {
    let Ok(image) = Image::from_bytes(bytes) else { return false };
    let _ = image.yielded::<u32>(&Options::new());
    match Resumable::restore(outer, &image, &Options::new()) {
        Ok(mut restored) => {
            let json = restored.snapshot(Format::Json).expect("what was restored can be stored");
            restored.snapshot(Format::Postcard).expect("what was restored can be stored");
            json.frames().expect("what was written can be read");
            for _ in 0..4 {
                if let State::Complete(_) = restored.resume(&mut (), 1) {
                    break;
                }
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
