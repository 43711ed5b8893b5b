//! Types as text: what is read, what is refused and where, what is printed.

use leno_control::{ControlType, Event, Expr, Port, TypeError};

fn control(text: &str) -> ControlType {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn k45_text_is_printed_as_it_was_meant() {
    let same = [
        "R",
        "W",
        "RW",
        "R+",
        "W+",
        "(RW)+",
        "(R+W)+",
        "(R(RW)*W)+",
        "(R?RW?W)+",
        "R|W",
        "(R|W)+",
        "R1W2",
        "(R1+W2+)+",
        "()",
        "()+",
        "R++",
        "R+*?",
        "(Rleft Rright Wsum)+",
        "S*R",
        "Rin | Wout | S",
        "(R|())W",
        "R12W3",
        "R12 W_",
    ];
    for text in same {
        assert_eq!(control(text).to_string(), text);
    }
    let tidied = [
        ("((R+)W)+", "(R+W)+"),
        (" R W ", "RW"),
        ("(R)(W)", "RW"),
        ("((R)|(W|S))", "R|W|S"),
        ("Rin Wout", "Rin Wout"),
        ("RinWout", "Rin Wout"),
        ("RWx", "R Wx"),
        ("R\n|\tW", "R|W"),
    ];
    for (text, tidy) in tidied {
        assert_eq!(control(text).to_string(), tidy);
        assert_eq!(control(tidy), control(text));
    }
}

#[test]
fn k45_text_becomes_a_tree() {
    let plus = |inner| Expr::Plus(Box::new(inner));
    let event = |text: &str| Expr::Event(text.parse().unwrap());
    let tree = plus(Expr::Seq(vec![plus(event("R")), event("W2")]));
    assert_eq!(*control("((R+)W2)+").expr(), tree);
    assert_eq!(ControlType::new(tree.clone()).unwrap(), control("(R+W2)+"));
    assert!(
        matches!(ControlType::new(Expr::Rule("t".into())), Err(TypeError::Rule(name)) if name == "t")
    );
}

#[test]
fn k45_what_is_no_type_is_refused_with_its_place() {
    let item = "an event (`R`, `W` or `S`) or `(`";
    let wrong = [
        ("", 1, item, "the end"),
        ("R|", 3, item, "the end"),
        ("|R", 1, item, "`|`"),
        ("+R", 1, item, "`+`"),
        ("RW X", 4, "an event, `(`, `+`, `*`, `?`, `|` or the end", "`X`"),
        ("(RW", 4, "an event, `(`, `+`, `*`, `?`, `|` or `)`", "the end"),
        ("RW)+", 3, "an event, `(`, `+`, `*`, `?`, `|` or the end", "`)`"),
        ("R<t>", 2, item, "`<`"),
        ("(R|)", 4, item, "`)`"),
        ("Sx", 2, "an event, `(`, `+`, `*`, `?`, `|` or the end", "`x`"),
        ("RÄ", 2, "an event, `(`, `+`, `*`, `?`, `|` or the end", "`Ä`"),
    ];
    for (text, column, expected, found) in wrong {
        let error = text.parse::<ControlType>().unwrap_err();
        let message = format!("expected {expected} at column {column} of `{text}`, found {found}");
        assert_eq!(error.to_string(), message);
        let TypeError::Parse(error) = error else { panic!("{error}") };
        assert_eq!((error.column(), error.expected()), (column, expected));
        assert_eq!(error.picture().lines().nth(1).unwrap().chars().count(), column);
    }
}

#[test]
fn k45_text_from_outside_cannot_use_up_the_stack() {
    for text in ["(".repeat(100_000), format!("R{}", "+".repeat(100_000))] {
        let error = text.parse::<ControlType>().unwrap_err();
        assert!(
            error.to_string().starts_with("expected no more than 100 levels at column 10"),
            "{error}"
        );
    }
    let deep = format!("{}R{}", "(".repeat(100), ")+".repeat(100));
    assert_eq!(control(&deep), control("R+"));
}

#[test]
fn ports_and_events_by_name() {
    assert_eq!("Rlines".parse(), Ok(Event::read("lines")));
    assert_eq!(Event::Spawn.to_string().parse(), Ok(Event::Spawn));
    assert_eq!(Port::new(""), Ok(Port::UNNAMED));
    assert_eq!(
        Port::new("Lines").unwrap_err().to_string(),
        "no port can be called `Lines`: names are of lower-case letters, digits and `_`, not 'L'"
    );
    assert_eq!(
        "RW".parse::<Event>().unwrap_err().to_string(),
        "expected the end at column 2 of `RW`, found `W`"
    );
    let control = control("(Rb Ra S Wc)+");
    assert_eq!(control.reads().iter().map(Port::name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(control.writes().iter().map(Port::name).collect::<Vec<_>>(), ["c"]);
    let renamed = control.renamed(|name| format!("x{name}")).unwrap();
    assert_eq!(renamed.to_string(), "(Rxb Rxa S Wxc)+");
    let one = control.renamed(|_| String::new()).unwrap();
    assert_eq!(one, "(RRSW)+".parse().unwrap());
}

#[test]
fn too_many_states_are_refused() {
    // Which of the last twenty reads was the first one: 2 to the 20th states.
    let text = format!("(R|W)*R{}", "(R|W)".repeat(20));
    let error = text.parse::<ControlType>().unwrap_err();
    assert_eq!(error.to_string(), "an automaton of more than 100000 states is not worked out");
}
