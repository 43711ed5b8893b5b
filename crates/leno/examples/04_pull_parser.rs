//! A push parser turned into a pull parser.
//!
//! xml5ever calls its sink for every token; the sink here suspends the coroutine that xml5ever
//! runs in. So the parser, deep in its own calls, stops at each start tag until the next one is
//! asked for, and the loop that asks is in charge.

use leno::{Coroutine, Suspender};
use xml5ever::buffer_queue::BufferQueue;
use xml5ever::tendril::StrTendril;
use xml5ever::tokenizer::{ProcessResult, TagKind, Token, TokenSink, XmlTokenizer};

const DOCUMENT: &str = r#"<?xml version="1.0"?>
<cloth weave="leno">
  <warp ends="2"><thread colour="white"/></warp>
  <weft picks="1">plain</weft>
  <!-- no tag -->
  <selvage/>
</cloth>"#;

/// What the pull parser gives: a tag's name and its attributes.
struct StartTag {
    name: String,
    attributes: Vec<(String, String)>,
}

/// Suspends with every start tag.
struct Suspending<'co>(&'co Suspender<(), StartTag>);

impl TokenSink for Suspending<'_> {
    type Handle = ();

    fn process_token(&self, token: Token) -> ProcessResult<()> {
        if let Token::Tag(tag) = token
            && matches!(tag.kind, TagKind::StartTag | TagKind::EmptyTag)
        {
            let pair = |a: &xml5ever::Attribute| (a.name.local.to_string(), a.value.to_string());
            let attributes = tag.attrs.iter().map(pair).collect();
            self.0.suspend(StartTag { name: tag.name.local.to_string(), attributes });
        }
        ProcessResult::Continue
    }
}

/// The pull parser.
fn start_tags(document: &'static str) -> Coroutine<(), StartTag> {
    Coroutine::new(move |co, ()| {
        let input = BufferQueue::default();
        input.push_back(StrTendril::from(document));
        let parser = XmlTokenizer::new(Suspending(co), Default::default());
        let _ = parser.feed(&input);
        parser.end();
    })
}

fn main() {
    let tags = start_tags(DOCUMENT);
    let first = tags.iter().next().expect("the document has a root");
    println!("root: {}", first.name);
    for StartTag { name, attributes } in tags {
        println!("tag: {name} {attributes:?}");
    }
}
