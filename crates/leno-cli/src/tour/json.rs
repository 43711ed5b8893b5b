//! The tour as JSON, for programs.

use core::fmt::Write;

use super::Outcome;

/// One object: what each stop showed, and whether all went well.
pub(super) fn report(outcomes: &[Outcome]) -> String {
    let stops: Vec<String> = outcomes.iter().map(stop).collect();
    let is_ok = outcomes.iter().all(|outcome| outcome.result.is_ok());
    format!("{{\n  \"ok\": {is_ok},\n  \"stops\": [\n{}\n  ]\n}}", stops.join(",\n"))
}

fn stop(outcome: &Outcome) -> String {
    let (key, text) = match &outcome.result {
        Ok(text) => ("result", text),
        Err(text) => ("error", text),
    };
    let says: Vec<String> = outcome.said.iter().map(|line| string(line)).collect();
    format!(
        "    {{\"name\": {}, \"ok\": {}, \"milliseconds\": {}, \"shows\": {}, \"says\": [{}], \
         \"{key}\": {}, \"read\": {}}}",
        string(outcome.stop.name),
        outcome.result.is_ok(),
        outcome.took.as_millis(),
        string(&outcome.stop.shows.replace('\n', " ")),
        says.join(", "),
        string(text),
        string(outcome.stop.read),
    )
}

/// A string, quoted.
pub(super) fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::string;

    #[test]
    fn what_has_a_meaning_in_json_is_quoted() {
        assert_eq!(string("a \"b\"\\\n\t\u{1}é"), r#""a \"b\"\\\n\t\u0001é""#);
    }
}
