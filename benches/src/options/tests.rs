use super::{Options, Peers, Request, parse};
use crate::bench::Scale;
use crate::contender::Contender;

fn parsed(line: &str) -> Result<Request, String> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn measure(line: &str) -> Options {
    match parsed(line) {
        Ok(Request::Measure(options)) => options,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn everything_is_measured_by_default() {
    let options = measure("");
    assert_eq!((options.scale, &options.peers), (Scale::Full, &Peers::All));
    assert_eq!(options.benches().unwrap().len(), crate::bench::all().len());
}

#[test]
fn only_matches_prefixes_and_repeats() {
    let options = measure("--only resume-depth --only hop");
    let names: Vec<&str> = options.benches().unwrap().iter().map(|b| b.name).collect();
    assert_eq!(names, ["resume-depth-0", "resume-depth-1", "resume-depth-4", "hop"]);
    assert!(measure("--only nothing").benches().err().unwrap().contains("tree-walk"));
}

#[test]
fn peers_restrict_all_but_leno() {
    let contender = |name| Contender::timed(name, |_| {});
    let go = Contender::external("go", |_| unreachable!());
    let Options { peers, .. } = measure("--peers crates");
    assert!(peers.admits(&contender("corosensei")) && !peers.admits(&go));
    let Options { peers, .. } = measure("--peers tokio,go");
    assert!(!peers.admits(&contender("corosensei")) && peers.admits(&go));
    assert!(peers.admits(&contender("tokio kanal")));
    let Options { peers, .. } = measure("--peers none");
    assert!(peers.admits(&contender("leno shared")) && !peers.admits(&contender("tokio")));
}

#[test]
fn mistakes_are_named() {
    assert!(parsed("--peers nobody").unwrap_err().contains("nobody is not a peer"));
    assert!(parsed("--json").unwrap_err().contains("--json needs a value"));
    assert!(parsed("--fast").unwrap_err().contains("--fast is not an option"));
}

#[test]
fn help_wins_and_list_is_a_request() {
    assert_eq!(parsed("--quick --help"), Ok(Request::Help));
    assert_eq!(parsed("--list"), Ok(Request::List));
}
