//! `leno sessions`, as a user calls it, and as a browser does.
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use socket2::{Domain, Socket, Type};

/// A store of a test's own.
struct Store(PathBuf);

impl Store {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("leno-sessions-{name}-{}", std::process::id()));
        let _none = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Store(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leno"));
        command
            .args(["sessions", "--store"])
            .arg(self.0.join("store"))
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command prints that works.
    #[track_caller]
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn a_dialogue_on_the_terminal() {
    let store = Store::new("terminal");
    let started = store.says(&["start"]);
    let (id, question) = started.split_once('\n').unwrap();
    assert_eq!(question, "Please enter your name:\n");
    let says = |answer: &str| store.says(&["answer", id, answer]);
    assert_eq!(says("John Doe"), "Please enter your country:\n");
    assert_eq!(says("Genovia"), "Please enter your age:\n");
    assert_eq!(says("twenty-eight"), "Please enter your age:\nPlease enter a valid number!\n");
    assert_eq!(says(" 28 "), "Please enter your email address:\n");
    let list = store.says(&["list", "waiting"]);
    assert!(list.starts_with(id) && list.contains("Please enter your email address:"), "{list}");
    let shown = store.says(&["show", id]);
    assert!(shown.contains("\"name\": \"John Doe\"") && shown.contains("\"age\": 28"), "{shown}");
    assert_eq!(
        says("nospam@nospam.at"),
        "Name: John Doe, Country: Genovia, Age: 28, Email: nospam@nospam.at\n"
    );
    let output = store.run(&["answer", id, "more"]);
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error, format!("leno sessions: session {id} has come to an end: it is done\n"));
    for wrong in
        [&["answer", id, ""][..], &["answer", "12", "x"], &["show", &"0".repeat(32)], &["dance"]]
    {
        assert!(!store.run(wrong).status.success(), "{wrong:?}");
    }
    let other = store.says(&["start"]);
    store.says(&["cancel", &other[..32]]);
    assert!(store.says(&["list", "cancelled"]).contains("by the user"));
    assert_eq!(store.says(&["expire", "0"]), "0 expired, 2 deleted\n");
}

/// As git has it: of an id the first digits will do, as long as they mean one.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn the_first_digits_of_an_id_will_do() {
    let store = Store::new("prefix");
    let mut ids: Vec<String> = (0..17).map(|_| store.says(&["start"])[..32].to_owned()).collect();
    ids.sort();
    // Of seventeen ids two begin with the same digit.
    let same = ids.windows(2).find(|pair| pair[0][..1] == pair[1][..1]).unwrap();
    let output = store.run(&["show", &same[0][..1]]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    let told =
        format!("leno sessions: several ids begin with {}; give more of it:\n  ", &same[0][..1]);
    assert!(error.starts_with(&told) && error.contains(&same[0]), "{error}");

    let meant = |digits: usize| ids.iter().filter(|id| id.starts_with(&same[1][..digits])).count();
    let enough = (1..=32).find(|digits| meant(*digits) == 1).unwrap();
    let enough = same[1][..enough].to_uppercase();
    assert_eq!(store.says(&["answer", &enough, "John Doe"]), "Please enter your country:\n");
    assert!(store.says(&["show", &same[1]]).contains("John Doe"));
    store.says(&["cancel", &enough]);
    assert!(store.says(&["list", "cancelled"]).starts_with(&same[1]));

    let nobody = store.run(&["show", &format!("{}zz", &same[0][..4])]);
    assert_eq!(nobody.status.code(), Some(2));
    let none =
        (0..256).map(|n| format!("{n:02x}")).find(|two| !ids.iter().any(|id| id.starts_with(two)));
    let output = store.run(&["show", none.as_ref().unwrap()]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        error,
        format!("leno sessions: no session has an id that begins with {}\n", none.unwrap())
    );
}

/// What the page on sessions shows on a terminal is what happens there.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn what_the_documentation_shows_happens() {
    let page = include_str!("../../../docs/sessions.md");
    let block =
        page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let store = Store::new("documented");
    let (mut id, mut commands) = (None::<String>, 0);
    for part in block.split("$ ").skip(1) {
        let (command, shown) = part.split_once('\n').unwrap();
        let command = command.split('#').next().unwrap().trim();
        if let Some(example) = command.strip_prefix("cargo run -p leno-session --example ") {
            let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../leno-session/examples/");
            let is_there = |ending| PathBuf::from(format!("{examples}{example}{ending}")).exists();
            assert!(is_there(".rs") || is_there(""), "{example}");
            continue;
        }
        let words = command.strip_prefix("cargo run --release -- sessions ").expect(command);
        let (words, text) = words.split_once('"').unwrap_or((words, ""));
        let mut arguments: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
        arguments.extend(text.strip_suffix('"'));
        if arguments == ["serve"] {
            drop(Server::start(&store));
            continue;
        }
        // Ids are random: those shown stand for those that are.
        for argument in &mut arguments {
            if argument.contains("..") {
                *argument = id.as_deref().expect("a session was started");
            }
        }
        let says = store.says(&arguments);
        if arguments == ["start"] {
            id = says.lines().next().map(str::to_owned);
        }
        assert_eq!(says.lines().count(), shown.lines().count(), "{command}: {says}");
        assert_eq!(says.lines().last(), shown.lines().last(), "{command}");
        commands += 1;
    }
    assert!(commands >= 2);
}

/// A server, and a client that is not polite.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(store: &Store) -> Self {
        Server::start_as(store.command(&["serve", "--listen", "127.0.0.1:0"]))
    }

    fn start_as(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening at http://").expect("it listens").to_owned();
        Server { process, address }
    }

    fn send(&self, request: &str) -> String {
        self.send_from([127, 0, 0, 1], request)
    }

    /// As a client with this address, of which loopback has many.
    fn connect_from(&self, client: [u8; 4]) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((client, 0)).into()).unwrap();
        socket.connect(&self.address.parse::<SocketAddr>().unwrap().into()).unwrap();
        TcpStream::from(socket)
    }

    fn send_from(&self, client: [u8; 4], request: &str) -> String {
        let mut stream = self.connect_from(client);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _reset = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            self.address
        ))
    }

    fn post_with(&self, path: &str, headers: &str, body: &str) -> String {
        let (host, length) = (&self.address, body.len());
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ))
    }

    fn post(&self, path: &str, body: &str) -> String {
        self.post_with(path, "", body)
    }

    fn begin(&self) -> String {
        location(&self.post("/", ""))
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

/// What reads the log of a server may have gone; the server goes on.
#[test]
fn a_server_goes_on_if_nobody_reads_its_log() {
    let store = Store::new("unread");
    // Others can reach this address, of which it says so.
    let mut command = store.command(&["serve", "--listen", "0.0.0.0:0"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stderr(writer);
    let mut server = Server::start_as(command);
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    let page = server.begin();
    assert!(server.get(&page).contains("Please enter your name:"));
}

#[track_caller]
fn location(answer: &str) -> String {
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let line = answer.lines().find_map(|line| line.strip_prefix("location: "));
    line.expect("it leads somewhere").to_owned()
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn a_dialogue_as_a_page_survives_its_server() {
    let store = Store::new("page");
    let server = Server::start(&store);
    assert!(server.get("/").contains("<button autofocus>Begin</button>"));
    let page = server.begin();
    assert!(server.get(&page).contains("<label for=\"answer\">Please enter your name:</label>"));
    let next = server.post(&page, "answer=%3Cscript%3Ealert(1)%3C%2Fscript%3E&sequence=1");
    assert_eq!(location(&next), page);
    server.kill();

    let server = Server::start(&store);
    assert!(server.get(&page).contains("Please enter your country:"));
    // A form that was sent twice, and one of an earlier page.
    for _ in 0..2 {
        server.post(&page, "answer=Genovia&sequence=2");
        server.post(&page, "answer=Nobody&sequence=1");
    }
    let shown = server.get(&page);
    assert!(shown.contains("Please enter your age:"), "{shown}");
    server.post(&page, "answer=70&sequence=3");
    server.kill();

    let server = Server::start(&store);
    server.post(&page, "answer=5550100&sequence=4");
    let shown = server.get(&page);
    let result = "Name: &lt;script&gt;alert(1)&lt;/script&gt;, Country: Genovia, Age: 70, Telephone: 5550100";
    assert!(shown.contains(result) && !shown.contains("<script"), "{shown}");
    assert!(shown.contains("content-security-policy: default-src 'none'"), "{shown}");
    // Told to end, it does.
    let pid = server.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut server = server;
    assert!(server.process.wait().unwrap().success());
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn what_is_wrong_is_refused() {
    let store = Store::new("wrong");
    let server = Server::start(&store);
    let page = server.begin();
    let nobody = format!("/s/{}", "0".repeat(32));
    assert_eq!(status(&server.get(&nobody)), "404");
    assert_eq!(status(&server.get("/s/../secret")), "404");
    assert_eq!(status(&server.post(&page, "sequence=1")), "400");
    let long = "x".repeat(1001);
    for answer in ["", "+++", "a%00b", &long] {
        let refused = server.post(&page, &format!("answer={answer}&sequence=1"));
        assert_eq!(status(&refused), "422", "{refused}");
        assert!(refused.contains("Please try again: the answer "), "{refused}");
    }
    assert_eq!(status(&server.post(&page, &"x".repeat(20_000))), "413");
    assert_eq!(
        status(&server.send("GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")),
        "421"
    );
    let forged = server.post_with(&page, "origin: http://evil.example\r\n", "answer=x&sequence=1");
    assert_eq!(status(&forged), "421");
    let forged = server.post_with(
        &page,
        "origin: null\r\nsec-fetch-site: cross-site\r\n",
        "answer=x&sequence=1",
    );
    assert_eq!(status(&forged), "421");
    let own = server.post_with(
        &page,
        &format!("origin: http://{}\r\n", server.address),
        "answer=x&sequence=1",
    );
    assert_eq!(status(&own), "303");
    let answer = server.send(&format!(
        "DELETE {page} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        server.address
    ));
    assert_eq!(status(&answer), "405");
}

/// A worker that cannot go on is seen at once, not when the server is told to end.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn serve_ends_and_says_so_when_its_worker_has_ended() {
    let store = Store::new("gone");
    let mut command = store.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening at "), "{line}");
    let file = rusqlite::Connection::open(store.0.join("store")).unwrap();
    file.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    file.execute_batch("DROP TABLE leno_session").unwrap();
    let output = process.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the worker has ended, and so does the page: "), "{said}");
    assert!(said.contains("no such table"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn an_empty_store_is_refused_before_anything_is_printed() {
    for address in ["", "sqlite:", ":memory:"] {
        let output = Command::new(env!("CARGO_BIN_EXE_leno"))
            .args(["sessions", "--store", address, "start"])
            .output()
            .unwrap();
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("not the address of a store: "), "{said}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn a_new_store_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let store = Store::new("mode");
    store.says(&["start"]);
    let mode = std::fs::metadata(store.0.join("store")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Rates are counted by client: what one asks for too often the others still get.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn one_clients_flood_does_not_keep_others_out() {
    let store = Store::new("flood");
    let server = Server::start(&store);
    let request = |last| {
        let end = if last { "connection: close\r\n" } else { "" };
        format!("GET / HTTP/1.1\r\nhost: {}\r\n{end}\r\n", server.address)
    };
    let told = server.send(&(request(false).repeat(499) + &request(true)));
    let count = |status: &str| told.matches(&format!("HTTP/1.1 {status} ")).count();
    assert_eq!(count("200") + count("429"), 500);
    assert!(count("200") >= 60 && count("429") > 0, "{} and {}", count("200"), count("429"));
    assert!(told.contains("Too many requests. Wait a moment.") && told.contains("retry-after: 1"));
    assert_eq!(status(&server.send_from([127, 0, 0, 2], &request(true))), "200");

    // Dialogues have a limit of their own, by client too.
    let begin = format!(
        "POST / HTTP/1.1\r\nhost: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        server.address
    );
    let from = |n: u8| server.send_from([127, 0, 0, n], &begin);
    assert_eq!(status(&from(3)), "303");
    assert!((0..200).any(|_| from(3).contains("Too many dialogues at once.")));
    assert_eq!(status(&from(4)), "303");
}

/// Connections are counted by client, too: silent ones of one client leave room for others.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn one_clients_silent_connections_do_not_keep_others_out() {
    let store = Store::new("silent");
    let server = Server::start(&store);
    let get = format!("GET / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
    // They are closed after some time of silence, and another client would get in then. So what is seen counts if the first
    // of them is still open.
    let try_once = || {
        let mut silent: Vec<_> = (0..300).map(|_| server.connect_from([127, 0, 0, 1])).collect();
        let answer = server.send_from([127, 0, 0, 2], &get);
        silent[0].set_nonblocking(true).unwrap();
        let is_open =
            silent[0].read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        if is_open {
            assert_eq!(status(&answer), "200");
            let mut refusal = String::new();
            silent.pop().unwrap().read_to_string(&mut refusal).unwrap();
            assert_eq!(status(&refusal), "429", "{refusal}");
        }
        is_open
    };
    assert!((0..3).any(|_| try_once()), "others have to wait until silent connections are closed");
}
