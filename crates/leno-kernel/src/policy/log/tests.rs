//! Logs as text, there and back.

use super::super::testing::Random;
use super::*;

fn pick(of: usize, took: usize) -> Decision {
    Decision::new(Decided::Pick, of, took)
}

#[test]
fn the_table_of_kinds_is_in_order() {
    for (number, (kind, letter, _)) in Decided::ALL.into_iter().enumerate() {
        assert_eq!(kind.number(), number);
        assert!(letter.is_ascii_uppercase() && letter != 'X');
    }
}

#[test]
fn any_log_comes_back_from_its_text() {
    let mut random = Random(77);
    for len in (0..200).step_by(if cfg!(miri) { 50 } else { 1 }) {
        let log: ChoiceLog = (0..len)
            .map(|_| {
                let (kind, ..) = Decided::ALL[random.below(6) as usize];
                let most = [1, 3, 5000][random.below(3) as usize];
                let of = 2 + random.below(most);
                Decision::new(kind, of as usize, random.below(of) as usize)
            })
            .flat_map(|decision| [decision; 2])
            .collect();
        let text = log.to_string();
        assert!(text == "-" || text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.'));
        assert_eq!(text.parse(), Ok(log.clone()), "{text}");
        assert_eq!((log.len(), log.iter().count()), (2 * len, 2 * len as usize));
    }
}

#[test]
fn equal_decisions_in_a_row_are_one_entry() {
    let mut log: ChoiceLog = core::iter::repeat_n(pick(3, 0), 1000).collect();
    log.push(pick(40, 37));
    log.push(Decision::new(Decided::Choose(ChoiceKind::Timer), 2, 1));
    assert_eq!(log.to_string(), "P3XrsP14.11T2.1");
    assert_eq!(format!("{log:?}"), "ChoiceLog(P3XrsP14.11T2.1)");
    assert_eq!(log.iter().last().map(Decision::took), Some(1));
    assert_eq!("P3X2P3X2".parse::<ChoiceLog>().unwrap().to_string(), "P3X4");
}

#[test]
fn a_long_run_takes_no_room() {
    let log: ChoiceLog = "P2Xzzzzzzzzz".parse().unwrap();
    assert_eq!(log.len(), 36_u64.pow(9) - 1);
    assert_eq!(log.iter().next(), Some(pick(2, 0)));
}

#[test]
fn whatever_is_no_log_is_refused() {
    for (text, at) in [
        ("", 0),
        ("P", 1),
        ("P1", 1),
        ("P3.3", 3),
        ("P3.", 3),
        ("P3X0", 3),
        ("P3-", 2),
        ("X3", 0),
        ("P2 ", 2),
        ("Q2", 0),
        ("Pé", 1),
        ("P+2", 1),
        ("P3zzzzzzzz", 1),
        ("P2X3w5e11264sgsfP2", 18),
        ("P2X3w5e11264sgsfP3X2", 20),
        ("--", 0),
    ] {
        let error = text.parse::<ChoiceLog>().expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
    }
    let error = "P3.7".parse::<ChoiceLog>().unwrap_err().to_string();
    assert_eq!(error, "not a choice log: the number of a candidate expected at byte 3");
}

#[test]
#[should_panic(expected = "0 among 1 is no decision")]
fn one_candidate_is_no_decision() {
    pick(1, 0);
}
