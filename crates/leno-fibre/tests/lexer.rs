//! A lexer as a circuit of ten chips over three shared nets.
//!
//! One token goes round: a position, and who has tried it. Whoever cannot match there passes it back
//! to the net, for another one to try; whoever can writes where its lexeme ends. So backtracking is a
//! message, and any number of recognisers can be added without changing another one.

use std::cell::RefCell;
use std::rc::Rc;

use leno_explore::Explorer;
use leno_fibre::chip::{Chip, Circuit, value};
use leno_fibre::{In, Out, run};

const TEXT: &str = "\n// hello\nvar x = 187; /* some /* nested */ comments */\nvar hello = 2;\n";

/// A position, and who has tried it, a bit each.
type Token = (usize, u32);
/// From where to where a lexeme goes.
type Lexeme = (usize, usize);

/// How long a lexeme is at the beginning of a text, by kind; 0 if there is none.
const KINDS: [(&str, fn(&str) -> usize); 8] = [
    ("newline", |rest| usize::from(rest.starts_with('\n'))),
    ("blank", |rest| rest.len() - rest.trim_start_matches(' ').len()),
    ("line comment", |rest| match rest.strip_prefix("//") {
        Some(_) => rest.find('\n').unwrap_or(rest.len()),
        None => 0,
    }),
    ("comment", nested),
    ("name", |rest| match rest.starts_with(|c: char| c.is_alphabetic()) {
        true => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
        false => 0,
    }),
    ("number", |rest| rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
    ("equals", |rest| usize::from(rest.starts_with('='))),
    ("semicolon", |rest| usize::from(rest.starts_with(';'))),
];

fn nested(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            inner if inner.starts_with("/*") => (depth, at) = (depth + 1, at + 2),
            inner if inner.starts_with("*/") && depth > 0 => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return if at > 1 { at } else { 0 };
        }
    }
    0
}

type Recogniser = Chip<(In<Token>, Out<Token>, Out<Lexeme>)>;

fn recogniser(n: usize) -> Recogniser {
    let (name, length) = KINDS[n];
    Chip::new(name, move |cx, (inp, back, found)| loop {
        let (at, tried) = inp.read(cx);
        match length(&TEXT[at..]) {
            0 => back.write(cx, (at, tried | 1 << n)),
            length => found.write(cx, (at, at + length)),
        }
    })
}

/// All lexemes; the newline at the end ends the text.
fn lexemes() -> Vec<&'static str> {
    let list: Rc<RefCell<Vec<&str>>> = Rc::default();
    let seen = list.clone();
    let ran = run(move |cx| {
        let mut circuit = Circuit::new();
        let (tokens, found) = (circuit.net::<Token>("tokens"), circuit.net::<Lexeme>("found"));
        circuit.add(value((0, 0)), &tokens);
        for n in 0..KINDS.len() {
            circuit.add(recogniser(n), (&tokens, &tokens, &found));
        }
        let collector: Chip<(In<Lexeme>, Out<Token>)> =
            Chip::new("collector", move |cx, (found, next)| loop {
                let (from, to) = found.read(cx);
                list.borrow_mut().push(&TEXT[from..to]);
                if TEXT[to..].trim().is_empty() {
                    return;
                }
                next.write(cx, (to, 0));
            });
        circuit.add(collector, (&found, &tokens));
        circuit.start(cx).unwrap();
    });
    // All recognisers know each other's nets: a circle, and it is removed.
    assert_eq!((ran.report().removed, ran.zombies().len()), (8, 0));
    seen.take()
}

const EXPECTED: [&str; 22] = [
    "\n", "// hello", "\n", "var", " ", "x", " ", "=", " ", "187", ";", " ",
    "/* some /* nested */ comments */", "\n", "var", " ", "hello", " ", "=", " ", "2", ";",
];

#[test]
fn k55_a_lexer_of_ten_chips_finds_22_lexemes() {
    assert_eq!(lexemes(), EXPECTED);
}

#[test]
fn k55_the_lexer_does_not_depend_on_the_schedule() {
    Explorer::new().runs(40).check(|| assert_eq!(lexemes(), EXPECTED));
}
