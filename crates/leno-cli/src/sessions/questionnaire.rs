//! The dialogue: that of Stadler (2011), section 5.2.

use leno::frame::{Co, resumable};

/// What it is called in a store.
pub(super) const NAME: &str = "questionnaire";

/// As many characters may an answer have.
pub(super) const LONGEST: usize = 1000;

type Dialogue = Co<String, String>;

#[resumable]
async fn read_string(co: &mut Dialogue, message: String) -> String {
    co.suspend(message).await
}

#[resumable]
async fn read_number(co: &mut Dialogue, mut message: String) -> i32 {
    let mut tries = 0;
    loop {
        if let Ok(number) = read_string(co, message.clone()).await.trim().parse() {
            return number;
        }
        if tries == 0 {
            message += "\nPlease enter a valid number!";
        }
        tries += 1;
    }
}

#[resumable]
pub(super) async fn interaction(co: &mut Dialogue) -> String {
    let name = read_string(co, "Please enter your name:".into()).await;
    let country = read_string(co, "Please enter your country:".into()).await;
    let age = read_number(co, "Please enter your age:".into()).await;
    let contact = if age < 70 {
        "Email: ".to_owned() + &read_string(co, "Please enter your email address:".into()).await
    } else {
        "Telephone: ".to_owned()
            + &read_string(co, "Please enter your telephone number:".into()).await
    };
    format!("Name: {name}, Country: {country}, Age: {age}, {contact}")
}

/// Whether this can be an answer.
pub(super) fn check(answer: &str) -> Result<(), String> {
    if answer.trim().is_empty() {
        return Err("the answer is empty".into());
    }
    if answer.chars().count() > LONGEST {
        return Err(format!("the answer has more than {LONGEST} characters"));
    }
    if answer.chars().any(|c| c.is_control()) {
        return Err("the answer has characters that cannot be shown".into());
    }
    Ok(())
}
