//! Deep types are read and refused without recursion: they use up no stack, also if that is as small as a coroutine's.
#![forbid(unsafe_code)]

use std::process::Command;
use std::thread;

use leno_control::{ControlType, Event, Expr, Grammar, GrammarError, Monitor, TypeError};

/// Less than the stack of a coroutine that does not say.
const STACK: usize = 48 << 10;

fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

/// Runs a test of this file in a process of its own, which an overflow would end.
#[track_caller]
fn survives(name: &str) {
    let program = std::env::current_exe().unwrap();
    let arguments = [name, "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let output = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
}

fn maybe(levels: usize) -> Expr {
    (0..levels).fold(Expr::Event(Event::Spawn), |expr, _| Expr::Maybe(Box::new(expr)))
}

fn lists(levels: usize) -> Expr {
    let spawn = || Expr::Event(Event::Spawn);
    (0..levels / 2)
        .fold(spawn(), |expr, _| Expr::Seq(vec![Expr::Either(vec![expr, Expr::Nothing]), spawn()]))
}

#[test]
#[ignore = "it is the process of another"]
fn texts() {
    on_a_small_stack(|| {
        let nested = ["(".repeat(100), "R".into(), ")?".repeat(100)].concat();
        let either = ["(R|W".repeat(100), ")".repeat(100)].concat();
        let signs = ["R".to_owned(), "?".repeat(100)].concat();
        for text in [nested, either, signs] {
            let parsed: ControlType = text.parse().unwrap();
            assert_eq!(parsed.to_string().parse::<ControlType>().unwrap(), parsed);
            let renamed = parsed.renamed(|_| "x".into()).unwrap();
            assert_eq!(parsed.expr().cloned().as_ref(), parsed.expr());
            drop((Monitor::new(&renamed), renamed.simplified().to_string()));
            // What is wrong is told at the end.
            assert!(matches!(format!("{text})").parse::<ControlType>(), Err(TypeError::Parse(_))));
            assert!(matches!(format!("({text}").parse::<ControlType>(), Err(TypeError::Parse(_))));
            let grammar: Grammar = format!("<t> = {text} <t>?").parse().unwrap();
            assert_eq!(grammar.to_string().parse::<Grammar>().unwrap(), grammar);
            drop(Monitor::of_grammar(&grammar));
            assert!(format!("<t> = {text} <u>").parse::<Grammar>().is_err());
            assert!(format!("<t> = {text} !").parse::<Grammar>().is_err());
        }
        // Signs at every level of parentheses.
        let many = (0..100).map(|depth| format!("){}", "?".repeat(depth)));
        let text = ["(".repeat(100), "R".into(), many.collect()].concat();
        assert!(matches!(text.parse::<ControlType>(), Err(TypeError::TooLarge(_))));
        assert!(matches!(
            format!("<t> = {text}").parse::<Grammar>(),
            Err(GrammarError::TooLarge(_))
        ));
    });
}

#[test]
fn a_deep_text_is_read_on_a_small_stack() {
    survives("texts");
}

#[test]
#[ignore = "it is the process of another"]
fn trees() {
    on_a_small_stack(|| {
        for make in [maybe, lists] {
            let expr = make(30_000);
            assert!(expr.to_string().len() > 30_000);
            let copy = expr.clone();
            assert!(copy == expr);
            let expr = expr.normal();
            let Err(error) = ControlType::new(expr) else { panic!("it was worked out") };
            assert_eq!(
                error.to_string(),
                "an expression of more than 320 levels is not worked out"
            );
            let rules = vec![("a".to_owned(), maybe(1)), ("b".to_owned(), copy)];
            assert!(matches!(Grammar::new(rules), Err(GrammarError::TooLarge(_))));
            // What is as deep as it may be is worked out, compared, written and dropped.
            let expr = make(300);
            let control = ControlType::new(expr.clone()).unwrap();
            assert_eq!(
                control.to_string().matches('S').count(),
                expr.to_string().matches('S').count()
            );
            let rules = vec![("a".to_owned(), expr.clone()), ("b".to_owned(), expr.clone())];
            assert_eq!(Grammar::new(rules.clone()).unwrap(), Grammar::new(rules).unwrap());
            assert!(Grammar::new(vec![("A".to_owned(), expr)]).is_err());
        }
    });
}

#[test]
fn a_deep_tree_is_refused_on_a_small_stack() {
    survives("trees");
}
