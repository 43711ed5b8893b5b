//! A parser as a circuit: characters become tokens, tokens become values. Each chip is plain code: the
//! parser calls itself for what is in brackets, and reads the next token however deep it is.

use leno::fibre::chip::{Circuit, Transducer, iterate, procedure};
use leno::fibre::{Cx, In};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Number(i64),
    Sign(char),
}
use Token::{Number, Sign};

/// Digits that follow one another are one token; blanks are none.
fn lexer() -> Transducer<char, Token> {
    Transducer::<char, Token>::new("lexer", |cx, (chars, tokens)| {
        let mut number = None;
        for c in chars.iter(cx) {
            match (c.to_digit(10), number) {
                (Some(digit), so_far) => number = Some(so_far.unwrap_or(0) * 10 + i64::from(digit)),
                (None, so_far) => {
                    so_far.into_iter().for_each(|n| tokens.write(cx, Number(n)));
                    number = None;
                    if !c.is_whitespace() {
                        tokens.write(cx, Sign(c));
                    }
                }
            }
        }
    })
}

/// A number, or a sum in brackets.
fn factor(cx: &Cx<'_>, tokens: &In<Token>) -> i64 {
    match tokens.read(cx) {
        Number(n) => n,
        Sign('(') => sum(cx, tokens, ')'),
        Sign('-') => -factor(cx, tokens),
        other => panic!("{other:?} begins nothing"),
    }
}

/// Products with `+` and `-` between them, up to this sign.
fn sum(cx: &Cx<'_>, tokens: &In<Token>, end: char) -> i64 {
    let (mut sum, mut product) = (0, factor(cx, tokens));
    loop {
        match tokens.read(cx) {
            Sign('*') => product *= factor(cx, tokens),
            Sign('+') => (sum, product) = (sum + product, factor(cx, tokens)),
            Sign('-') => (sum, product) = (sum + product, -factor(cx, tokens)),
            Sign(sign) if sign == end => return sum + product,
            other => panic!("{other:?} is neither a sign nor the end"),
        }
    }
}

fn main() {
    let ran = leno::run(|cx| {
        let mut circuit = Circuit::new();
        let (chars, tokens, values) =
            (circuit.net("chars"), circuit.net("tokens"), circuit.net("values"));
        circuit.add(iterate("1 + 2*3; 2*(3 + 4)*5; -(2 - 12) - 3;".chars()), &chars);
        circuit.add(lexer(), (&chars, &tokens));
        let parser = Transducer::new("parser", |cx, (tokens, values)| {
            loop {
                values.write(cx, sum(cx, &tokens, ';'));
            }
        });
        circuit.add(parser, (&tokens, &values));
        circuit.add(procedure(|value: i64| println!("{value}")), &values);
        circuit.start(cx).expect("all nets have readers and writers");
    });
    println!("{}", ran.report());
}
