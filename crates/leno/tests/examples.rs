//! Runs every example and compares what it prints with `examples/expected/NAME.txt`, byte for
//! byte.
//!
//! `cargo test` builds the examples beside the tests, and those programs are run. Where this test
//! was built alone they may be missing or older than their sources; then cargo builds them first.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// Every example has a test of its own below.
const EXAMPLES: &[&str] = &[
    "01_two_values",
    "02_counter",
    "03_tree_walk",
    "04_pull_parser",
    "05_moulding_machine",
    "06_ring",
    "07_borrowing",
    "08_own_scheduler",
    "09_attach",
    "10_explore",
    "11_echo",
    "12_fibres",
    "13_sieve",
    "14_circuit",
    "15_flexible",
    "16_parser",
    "17_recogniser",
    "18_savages",
    "19_log",
    "20_scheduler",
    "21_shared_queue",
    "22_placed",
    "23_bounded_buffer",
    "24_temperature",
    "25_real_time",
    "26_read_write",
    "27_santa",
    "28_santa_coroutine",
    "29_graph",
    "30_questionnaire",
    "31_stored_tree_walk",
    "32_travelling_agent",
    "33_checkpoint",
    "45_anywhere",
    "46_live_temperature",
    "40_state_machines",
    "41_k_means",
    "42_two_servers",
    "43_philosophers",
    "44_certain",
    "50_together",
    "51_select",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// The folder of this build's examples, such as `target/debug/examples`.
fn programs() -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its own path");
    let profile = own.parent().and_then(Path::parent).expect("a test is in a profile's deps");
    profile.join("examples")
}

/// Whether the program is there and not older than its source.
fn is_fresh(example: &str) -> bool {
    let changed = |path: PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    changed(programs().join(example)) >= changed(folder().join(format!("{example}.rs")))
}

/// Builds what is not fresh, into the folder this test is in.
fn build() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        if EXAMPLES.iter().all(|example| is_fresh(example)) {
            return;
        }
        let programs = programs();
        let mut profile = programs.parent().expect("a profile's folder").to_owned();
        let name = profile.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = if name == "debug" { "dev" } else { name }.to_owned();
        profile.pop();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", "leno", "--examples", "--profile", &name]);
        cargo.arg("--target-dir").arg(profile).current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().expect("cargo starts").success(), "the examples do not build");
    });
}

/// Runs an example and compares its output.
#[track_caller]
fn prints_what_is_expected(example: &str) {
    build();
    assert!(EXAMPLES.contains(&example));
    let expected = folder().join("expected").join(format!("{example}.txt"));
    let expected = fs::read_to_string(&expected).unwrap_or_else(|e| panic!("{expected:?}: {e}"));
    let program = programs().join(example);
    let output = Command::new(&program).output().unwrap_or_else(|e| panic!("{program:?}: {e}"));
    assert!(output.status.success(), "{example}: {output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{example}");
    // Santa tells what happens while it happens, which is never the same.
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.lines().all(|line| line.starts_with("Santa: ")), "{example}: {told}");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s76_two_values() {
    prints_what_is_expected("01_two_values");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s77_counter() {
    prints_what_is_expected("02_counter");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn f6_tree_walk() {
    prints_what_is_expected("03_tree_walk");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s23_pull_parser() {
    prints_what_is_expected("04_pull_parser");
}

/// The cycle of every event follows from the plant's figures: from 20 degrees by one a cycle to
/// 70 and 80, down to 74 and up to 80 again every 6; 20 cycles for 100 units, 10 of waiting, and
/// 10 each to close and open.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s74_moulding_machine() {
    prints_what_is_expected("05_moulding_machine");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s13_ring() {
    prints_what_is_expected("06_ring");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn borrowing() {
    prints_what_is_expected("07_borrowing");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn own_scheduler() {
    prints_what_is_expected("08_own_scheduler");
}

#[test]
fn attach() {
    prints_what_is_expected("09_attach");
}

#[test]
fn explore() {
    prints_what_is_expected("10_explore");
}

#[test]
fn echo() {
    prints_what_is_expected("11_echo");
}

#[test]
fn k59_fibres() {
    prints_what_is_expected("12_fibres");
}

#[test]
fn k28_sieve() {
    prints_what_is_expected("13_sieve");
}

#[test]
fn k55_circuit() {
    prints_what_is_expected("14_circuit");
}

#[test]
fn flexible() {
    prints_what_is_expected("15_flexible");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn f81_read_write() {
    prints_what_is_expected("26_read_write");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn f86_santa() {
    prints_what_is_expected("27_santa");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn f87_santa_coroutine() {
    prints_what_is_expected("28_santa_coroutine");
}

/// Section 5.2 of Stadler 2011, word for word.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s71_questionnaire() {
    prints_what_is_expected("30_questionnaire");
}

/// A dialogue in a file: a new process for each answer.
struct Questionnaire(PathBuf);

impl Questionnaire {
    fn new(name: &str) -> Self {
        build();
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("questionnaire-{name}"));
        let _ = fs::remove_file(&file);
        Questionnaire(file)
    }

    /// What the process says to an answer, or at the start.
    fn run(&self, answer: Option<&str>) -> String {
        let mut process = Command::new(programs().join("30_questionnaire"));
        let output = process.arg("run").arg(&self.0).args(answer).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn dialogue(&self, answers: &[&str]) -> Vec<String> {
        let answers = answers.iter().map(|answer| Some(*answer));
        [None].into_iter().chain(answers).map(|answer| self.run(answer)).collect()
    }
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s71_the_state_file_is_there_until_the_dialogue_ends() {
    let questionnaire = Questionnaire::new("file");
    for answer in [None, Some("Ann"), Some("Ruritania"), Some("30")] {
        questionnaire.run(answer);
        let bytes = fs::metadata(&questionnaire.0).expect("a state file").len();
        assert!(bytes < 100, "{bytes}");
    }
    assert!(questionnaire.run(Some("ann@example.com")).ends_with("Email: ann@example.com\n"));
    assert!(!questionnaire.0.exists());
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s72_at_seventy_the_telephone_number_is_asked_for() {
    let said = Questionnaire::new("seventy").dialogue(&["Ann", "Ruritania", "70", "5550100"]);
    assert_eq!(said[3], "Please enter your telephone number:\n");
    assert_eq!(said[4], "Name: Ann, Country: Ruritania, Age: 70, Telephone: 5550100\n");
    let said = Questionnaire::new("sixty-nine").dialogue(&["Ann", "Ruritania", "69"]);
    assert_eq!(said[3], "Please enter your email address:\n");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s73_a_valid_number_is_asked_for_once() {
    let said = Questionnaire::new("valid").dialogue(&["Ann", "Ruritania", "x", "y", "z"]);
    for bad in &said[3..] {
        assert_eq!(bad, "Please enter your age:\nPlease enter a valid number!\n");
    }
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s65_stored_tree_walk() {
    prints_what_is_expected("31_stored_tree_walk");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s65_travelling_agent() {
    prints_what_is_expected("32_travelling_agent");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s65_checkpoint() {
    prints_what_is_expected("33_checkpoint");
}

#[test]
fn m20_scheduler() {
    prints_what_is_expected("20_scheduler");
}

#[test]
fn m29_shared_queue() {
    prints_what_is_expected("21_shared_queue");
}

#[test]
fn m37_placed() {
    prints_what_is_expected("22_placed");
}

#[test]
fn m8_bounded_buffer() {
    prints_what_is_expected("23_bounded_buffer");
}

#[test]
fn k55_parser() {
    prints_what_is_expected("16_parser");
}

#[test]
fn k47_recogniser() {
    prints_what_is_expected("17_recogniser");
}

#[test]
fn k58_savages() {
    prints_what_is_expected("18_savages");
}

#[test]
fn k54_log() {
    prints_what_is_expected("19_log");
}

#[test]
fn m47_temperature() {
    prints_what_is_expected("24_temperature");
}

#[test]
fn m37_real_time() {
    prints_what_is_expected("25_real_time");
}

#[test]
fn m23_anywhere() {
    prints_what_is_expected("45_anywhere");
}

#[test]
fn m47_live_temperature() {
    prints_what_is_expected("46_live_temperature");
}

#[test]
#[cfg_attr(miri, ignore = "reads the tree")]
fn every_example_is_listed_short_and_has_its_output() {
    let listed = |folder: PathBuf, ending: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).expect("a folder of the project can be read");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
        let names = names.map(|name| name.expect("plain names"));
        names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect()
    };
    let examples: BTreeSet<String> = EXAMPLES.iter().map(ToString::to_string).collect();
    assert_eq!(listed(folder(), ".rs"), examples);
    assert_eq!(listed(folder().join("expected"), ".txt"), examples);
    let index = fs::read_to_string(folder().join("README.md")).expect("the list can be read");
    for example in EXAMPLES {
        assert!(index.contains(&format!("[{example}]({example}.rs)")), "{example} has no topic");
        let path = folder().join(format!("{example}.rs"));
        let source = fs::read_to_string(path).expect("an example can be read");
        assert!(source.starts_with("//! ") && source.lines().count() < 80, "{example}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn i06_together() {
    prints_what_is_expected("50_together");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn i08_select() {
    prints_what_is_expected("51_select");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn p54_graph() {
    prints_what_is_expected("29_graph");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn p49_state_machines() {
    prints_what_is_expected("40_state_machines");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn p50_k_means() {
    prints_what_is_expected("41_k_means");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn p51_two_servers() {
    prints_what_is_expected("42_two_servers");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn p52_philosophers() {
    prints_what_is_expected("43_philosophers");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn p56_certain() {
    prints_what_is_expected("44_certain");
}
