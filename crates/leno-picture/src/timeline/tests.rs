use leno_kernel::log::mark;
use leno_kernel::{LocalSystem, Options, yield_now};
use serde_json::Value;

use super::*;

const NASTY: &str = "</script><img src=x onerror=alert(1)> \"'`${1}\\ <!-- ü織🧵 \u{2028}";

fn page_of(cos: usize, turns: usize) -> (Log, String) {
    let system = LocalSystem::builder().virtual_time().log(100_000).build();
    for co in 0..cos {
        let options = Options::new().name(format!("{NASTY}{co}"));
        let body = move || (0..turns).for_each(|_| yield_now());
        drop(system.spawn_with(&options, body).unwrap());
    }
    drop(system.spawn(|| mark(NASTY)));
    system.run().unwrap();
    let log = system.log();
    let page = timeline(&log, &Names::new());
    (log, page)
}

/// What a browser would find in the element that holds what happened.
fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

fn numbers_of(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
}

#[test]
fn no_name_can_leave_its_string() {
    let (_, page) = page_of(2, 1);
    assert_eq!(page.matches("</script>").count(), 2, "the two that are meant");
    assert!(!page.contains("<img") && !page.contains("<!--"));
    let strings = data_of(&page)["strings"].clone();
    let strings: Vec<&str> = strings.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(strings.contains(&format!("{NASTY}1").as_str()) && strings.contains(&NASTY));
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let (_, page) = page_of(1, 1);
    for word in ["http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "import("] {
        assert!(!page.replace("\\u003cimg src=x", "").contains(word), "{word}");
    }
}

#[test]
fn what_the_script_reads_is_consistent() {
    let (log, page) = page_of(5, 3);
    let data = data_of(&page);
    let events = log.events().len();
    let (rows, strings) = (data["rows"].as_array().unwrap(), data["strings"].as_array().unwrap());
    assert_eq!(rows.len(), 6);
    for column in ["at", "core", "by", "to", "kind", "text"] {
        assert_eq!(data[column].as_array().unwrap().len(), events, "{column}");
    }
    for span in numbers_of(&data["spans"]).chunks(5) {
        let [row, _, text, from, to] = span else { panic!("{span:?}") };
        assert!((0..6).contains(row) && *text < strings.len() as i64);
        assert!(*from < events as i64 && (*to == -1 || from < to), "{span:?}");
    }
    assert!(numbers_of(&data["arrows"]).chunks(6).all(|arrow| arrow.len() == 6));
}

#[test]
fn ten_thousand_events_stay_small() {
    let (log, page) = page_of(200, 25);
    assert!(log.events().len() >= 10_000);
    let each = page.len() / log.events().len();
    assert!(each < 60, "{each} bytes an event");
}

#[test]
fn the_order_of_words_is_that_of_the_enums() {
    use crate::story::{Carries, Doing, Kind};
    let word = |list: &str, index: usize| {
        let (_, rest) = SCRIPT[0].split_once(&format!("const {list} = [")).unwrap();
        let (list, _) = rest.split_once(']').unwrap();
        list.split(", ").nth(index).unwrap().trim_matches('\'').to_owned()
    };
    assert_eq!(word("DOING", Doing::Runs as usize), "runs");
    assert_eq!(word("DOING", Doing::Waits as usize), "waits");
    assert_eq!(word("KIND", Kind::Mark as usize), "mark");
    assert_eq!(word("KIND", Kind::Does as usize), "does");
    assert_eq!(word("CARRIES", Carries::Call as usize), "call");
    assert_eq!(word("CARRIES", Carries::WakeUp as usize), "wake");
}

#[test]
fn an_empty_log_is_a_page_too() {
    let page = timeline(&Log::default(), &Names::new());
    assert_eq!(data_of(&page)["rows"], Value::Array(Vec::new()));
}
