//! A lexer as a circuit of ten chips.
//!
//! A position goes from recogniser to recogniser: whoever cannot match there passes it on to the next
//! one; whoever can writes where its lexeme ends to a net that all share, and whoever collects them
//! writes the next position to the net of the first. So backtracking is a message, and the circuit is
//! a circle.

use std::cell::RefCell;
use std::rc::Rc;

use leno_explore::Explorer;
use leno_fibre::chip::{Chip, Circuit, Transducer, value};
use leno_fibre::{In, Out, run};

const TEXT: &str = "\n// hello\nvar x = 187; /* some /* nested */ comments */\nvar hello = 2;\n";

/// From where to where a lexeme goes.
type Lexeme = (usize, usize);

type Length = fn(&str) -> usize;

/// How long a lexeme is at the beginning of a text, by kind; 0 if there is none.
const KINDS: [(&str, Length); 8] = [
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

/// Its pins: where to try, where to pass on what it cannot match, and what it has found.
type Recogniser = Chip<(In<usize>, Out<usize>, Out<Lexeme>)>;

fn recogniser(name: &'static str, length: Length) -> Recogniser {
    Recogniser::new(name, move |cx, (inp, next, found)| {
        loop {
            let at = inp.read(cx);
            match length(&TEXT[at..]) {
                0 => next.write(cx, at),
                length => found.write(cx, (at, at + length)),
            }
        }
    })
}

/// All lexemes; the newline at the end ends the text.
fn lexemes() -> Vec<&'static str> {
    let list: Rc<RefCell<Vec<&str>>> = Rc::default();
    let seen = list.clone();
    let ran = run(move |cx| {
        let mut circuit = Circuit::new();
        let found = circuit.net::<Lexeme>("found");
        let tries = KINDS.map(|(name, _)| circuit.net::<usize>(name));
        circuit.add(value(0), &tries[0]);
        for (n, (name, length)) in KINDS.into_iter().enumerate() {
            // What none of them matches goes round for ever: there is none.
            let next = &tries[(n + 1) % KINDS.len()];
            circuit.add(recogniser(name, length), (&tries[n], next, &found));
        }
        let collector = Transducer::<Lexeme, usize>::new("collector", move |cx, (found, next)| {
            loop {
                let (from, to) = found.read(cx);
                list.borrow_mut().push(&TEXT[from..to]);
                if TEXT[to..].trim().is_empty() {
                    return;
                }
                next.write(cx, to);
            }
        });
        circuit.add(collector, (&found, &tries[0]));
        circuit.start(cx).unwrap();
    });
    // All recognisers know each other's nets: a circle, and it is removed.
    assert_eq!((ran.report().removed, ran.zombies().len()), (8, 0));
    seen.take()
}

const EXPECTED: [&str; 22] = [
    "\n",
    "// hello",
    "\n",
    "var",
    " ",
    "x",
    " ",
    "=",
    " ",
    "187",
    ";",
    " ",
    "/* some /* nested */ comments */",
    "\n",
    "var",
    " ",
    "hello",
    " ",
    "=",
    " ",
    "2",
    ";",
];

#[test]
fn k55_a_lexer_of_ten_chips_finds_22_lexemes() {
    assert_eq!(lexemes(), EXPECTED);
}

#[test]
fn k55_the_lexer_does_not_depend_on_the_schedule() {
    Explorer::new().runs(40).check(|| assert_eq!(lexemes(), EXPECTED));
}
