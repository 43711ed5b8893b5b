//! The dialogue, that of example 30, and what can be an answer in it.

/// The example keeps the dialogue in a file; here it is kept in a store.
#[path = "../../../leno/examples/30_questionnaire.rs"]
#[allow(dead_code, reason = "of the example, only the dialogue is used")]
mod example;

pub(super) use example::interaction;

/// What it is called in a store.
pub(super) const NAME: &str = "questionnaire";

/// As many characters may an answer have.
pub(super) const LONGEST: usize = 1000;

/// What is answered by this text, if it can be an answer.
pub(super) fn check(text: &str) -> Result<&str, String> {
    let answer = text.trim();
    if answer.is_empty() {
        return Err("the answer is empty".into());
    }
    if answer.chars().count() > LONGEST {
        return Err(format!("the answer has more than {LONGEST} characters"));
    }
    if answer.chars().any(|c| c.is_control()) {
        return Err("the answer has characters that cannot be shown".into());
    }
    Ok(answer)
}
