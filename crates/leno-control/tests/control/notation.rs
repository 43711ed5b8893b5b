//! Types as text: what is read, what is refused and where, what is printed.

use leno_control::{ControlType, Event, Expr, Monitor, Port, TypeError, compose, pipeline};

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
        "(R+)+",
        "((R+)*)?",
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
        ("R+?", "(R+)?"),
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
fn k45_types_are_simplified() {
    let simple = [
        ("R(R|WR)+", "(R+W)+"),
        ("RWRW(RW)+", "(RW)+"),
        ("(W+)?", "(W+)?"),
        ("W*", "W*"),
        ("WW*", "WW*"),
        ("R+W|R+S", "R+(W|S)"),
        ("(R|R)(W|W)", "RW"),
        ("(R*)*W", "R*W"),
        ("R()W()", "RW"),
        ("((R?)+)?W", "R*W"),
        ("(()|R)+", "R+"),
        ("RR*W", "R+W"),
    ];
    for (text, expected) in simple {
        let found = control(text).simplified();
        assert_eq!(found.to_string(), expected, "{text}");
        assert_eq!(found, control(text));
    }
}

#[test]
fn k45_text_becomes_a_tree() {
    let plus = |inner| Expr::Plus(Box::new(inner));
    let event = |text: &str| Expr::Event(text.parse().unwrap());
    let tree = plus(Expr::Seq(vec![plus(event("R")), event("W2")]));
    assert_eq!(control("((R+)W2)+").expr(), Some(&tree));
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
fn too_many_states_and_events_are_refused() {
    // What was read twenty events ago: 2 to the 20th states.
    let many_states = format!("(R|W)*R{}", "(R|W)".repeat(20));
    let many_events = "R?".repeat(100_000);
    let states = "a type of more than 20000 states is not worked out";
    let events = "a type written with more than 2000 events is not worked out";
    for (text, refused) in [(many_states, states), (many_events, events)] {
        assert_eq!(text.parse::<ControlType>().unwrap_err().to_string(), refused);
    }
    let long = control(&"RW".repeat(1_000));
    assert_eq!(long.automaton().states().len(), 2_001);
    assert_eq!(control(&long.simplified().to_string()), long);
}

#[test]
fn k45_what_has_no_short_expression_is_printed_as_rules() {
    // Eight events in any order: 256 states, and an expression for each order.
    let parts: Vec<ControlType> = (0..8).map(|n| control(&format!("R{n}"))).collect();
    let parts: Vec<&ControlType> = parts.iter().collect();
    let any_order = compose(&parts, &[]).unwrap();
    assert_eq!(any_order.automaton().states().len(), 256);
    assert_eq!(any_order.expr(), None);
    let text = any_order.to_string();
    assert!(text.starts_with("<0> = R0 <1> | R1 <2> | R2 <3>"), "{text}");
    assert_eq!(control(&text), any_order);
    let mut monitor = Monitor::new(&any_order);
    (0..8).rev().for_each(|n| monitor.step(&Event::read(&n.to_string())).unwrap());
    assert!(monitor.may_end());
    assert!(
        monitor
            .step(&Event::read("3"))
            .unwrap_err()
            .to_string()
            .ends_with("there it allows the end")
    );
    // So many parentheses that nobody could read them.
    let functions = vec![control("(RW)+"); 120];
    let deep = pipeline(&functions).unwrap();
    assert_eq!(deep.automaton().states().len(), 121);
    assert_eq!(control(&deep.to_string()), deep);
    assert_eq!(control("<t> = R <t> | W"), control("R*W"));
    assert!(matches!("<t> = R <t> W".parse::<ControlType>(), Err(TypeError::Grammar(_))));
}
