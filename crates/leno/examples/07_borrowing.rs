//! Coroutines that borrow: those of a scope may use what is around it, because all of them have
//! ended when the scope is left. Here one reads a text and another one writes to a list.

use leno::scope;

fn main() {
    let text = String::from("over one under two over three");
    let mut lengths = Vec::new();
    let words = scope(|s| {
        let words = s.coroutine(|co, ()| {
            text.split(' ').for_each(|word| co.suspend(word));
        });
        let collector = s.coroutine(|co, mut word: &str| {
            while !word.is_empty() {
                lengths.push(word.len());
                word = co.suspend(());
            }
        });
        let mut count = 0;
        for word in words.iter() {
            collector.resume(word);
            count += 1;
        }
        count
        // The collector is still suspended: leaving the scope unwinds it.
    });
    println!("{words} words of {lengths:?} letters in {text:?}");
}
