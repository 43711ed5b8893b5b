//! Whatever the bytes, they are restored or refused: no panic, no overflow, no memory without bounds. What was
//! restored can be stored again, in both formats, and gone on with.
#![no_main]

mod hostile;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use leno_frame::{Co, Format, Image, Options, Resumable, Shared, State, resumable};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone)]
enum Tree {
    Leaf,
    Node(Box<Tree>, u8, Box<Tree>),
}

#[derive(Serialize, Deserialize, Clone)]
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
async fn outer(co: &mut Co<u32, u32>) -> u32 {
    let list = Shared::new(vec![1, 2, 3]);
    let mut sum = 0u32;
    for item in 0..2u32 {
        sum = sum.wrapping_add(item).wrapping_add(inner(co, list.clone(), 2).await);
    }
    sum
}

static HONEST: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (mut co, _) = Resumable::start(&mut (), outer, ());
    co.snapshot_with(Format::Postcard, &7).expect("it can be stored").into_bytes()
});

fuzz_target!(|data: &[u8]| {
    let Some(bytes) = hostile::hostile(data, &HONEST) else { return };
    let Ok(image) = Image::from_bytes(bytes) else { return };
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
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
