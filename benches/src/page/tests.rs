use super::page;
use crate::bench::{self, Scale};
use crate::contender::Failure;
use crate::machine::Machine;
use crate::outcome::{CaseOutcome, Entry, Outcome};

fn entry(name: &'static str, samples: &[f64], failure: Option<Failure>) -> Entry {
    let samples = samples.iter().copied().enumerate().collect();
    Entry { name, version: "1".into(), samples, note: None, failure }
}

fn outcome(bench: &str, entries: Vec<Entry>) -> Outcome {
    let bench = bench::all().iter().find(|b| b.name == bench).unwrap();
    let parameter = (!bench.parameter.is_empty()).then_some(100);
    Outcome { bench, cases: vec![CaseOutcome { parameter, entries }] }
}

#[test]
fn a_page_has_tables_charts_and_names_who_was_missing() {
    let missing = Failure::Skipped("go is not here: peers/install go <fetches> it".into());
    let entries = vec![
        entry("leno", &[2.0, 2.2, 2.1], None),
        entry("corosensei", &[4.0, 4.2, 4.4], None),
        entry("go", &[], Some(missing)),
    ];
    let hop = outcome("hop", entries);
    let page = page(&Machine::this(), Scale::Quick, &[hop]);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<polyline") && page.contains("<td class=\"n\">0.50</td>"), "{page}");
    assert!(
        page.contains("<li>go (1 times): skipped") || page.contains("<li>go (1 times): go is not")
    );
    assert!(page.contains("&lt;fetches&gt;") && !page.contains("<fetches>"));
    assert!(!page.contains("src=") && !page.contains("href=\"http"), "it fetches nothing");
}

#[test]
fn a_page_without_figures_is_a_page() {
    let page = page(&Machine::this(), Scale::Full, &[outcome("memory", vec![])]);
    assert!(
        page.contains("Nobody who was asked for was missing") && page.contains("id=\"memory\"")
    );
}
