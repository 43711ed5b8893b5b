//! A recogniser without going back: a matcher reads a position and writes every position behind what it
//! matches. Alternatives are fibres; whoever cannot go on starves, and that is all there is to backtracking.

use std::cell::RefCell;
use std::rc::Rc;

use leno::fibre::chip::{
    Transducer, deref_each, filter_map, iterate, one_or_more, optional, pipeline_list,
    sink_to_list, try_all, zero_or_more,
};

type Matcher = Transducer<usize, usize>;

/// Matches these words.
fn word(text: &Rc<str>, wanted: &'static str) -> Matcher {
    let text = text.clone();
    filter_map(move |at: usize| text.get(at..)?.starts_with(wanted).then_some(at + wanted.len()))
}

/// Where a matcher that begins at the beginning may end.
fn ends(matcher: Matcher) -> Vec<usize> {
    let list: Rc<RefCell<Vec<usize>>> = Rc::default();
    let closed = iterate([0]) | matcher | sink_to_list(list.clone());
    let ran = leno::run(move |cx| drop(closed.start(cx, ())));
    assert!(ran.zombies().is_empty());
    let mut ends = list.take();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// Brackets, round ones and square ones, nested in any way: a matcher that speaks of itself.
fn brackets(text: &Rc<str>) -> Matcher {
    let own = Rc::new(RefCell::new(word(text, "")));
    let pair =
        |open, close| pipeline_list([word(text, open), deref_each(own.clone()), word(text, close)]);
    let any = zero_or_more(try_all([pair("(", ")"), pair("[", "]")]));
    own.replace(any.clone());
    any
}

fn main() {
    let say = |what: &str, text: &str, matcher: &dyn Fn(&Rc<str>) -> Matcher| {
        println!("{what} on {text:?} ends at {:?}", ends(matcher(&text.into())));
    };
    // As many a's as there are would leave none for the next one.
    let greedy: &dyn Fn(&Rc<str>) -> Matcher =
        &|text| zero_or_more(word(text, "a")) | word(text, "ab");
    say("a*, ab", "aaab", greedy);
    say("a*, ab", "aaac", greedy);
    let greeting: &dyn Fn(&Rc<str>) -> Matcher = &|text| {
        let white = one_or_more(word(text, " "));
        pipeline_list([word(text, "hello"), optional(word(text, ",")), white, word(text, "world")])
    };
    say("hello,? white world", "hello,  world", greeting);
    say("hello,? white world", "hello world", greeting);
    say("hello,? white world", "goodbye world", greeting);
    say("brackets", "([][])(())", &brackets);
    say("brackets", "([)]", &brackets);
}
