//! What the engine does with sessions, on both stores that need no server.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use leno_frame::{Co, Format, Options, resumable};
use leno_session::store::{self, NewMessage, NewSession};
use leno_session::{
    Json, Kept, Memory, Pace, Query, Sent, SessionError, SessionId, Sessions, Sqlite, Stage, State,
    Store, Wait, Wake,
};

type Dialogue = Co<String, String>;

#[resumable]
async fn number(co: &mut Dialogue, question: String) -> u32 {
    loop {
        if let Ok(number) = co.suspend(question.clone()).await.parse() {
            return number;
        }
    }
}

#[resumable]
async fn area(co: &mut Dialogue, unit: String) -> String {
    let width = number(co, "width?".into()).await;
    let height = number(co, "height?".into()).await;
    format!("{} {unit}", width * height)
}

/// Each test on each store.
fn on_each(name: &str, test: impl Fn(Arc<dyn Store>)) {
    test(Arc::new(Memory::new()));
    let folder = crate::support::Folder::new(name);
    test(Arc::new(Sqlite::open(folder.file("store")).unwrap()));
}

fn with_area(store: &Arc<dyn Store>) -> Sessions {
    Sessions::open_shared(store.clone()).register("area", area)
}

#[test]
fn a_dialogue_goes_on_in_another_engine() {
    on_each("dialogue", |store| {
        let id = with_area(&store).start("area", &("acres",)).unwrap();
        let says = |answer: &str| {
            let sessions = with_area(&store);
            sessions.answer(id, answer).unwrap();
            sessions.run(id).unwrap()
        };
        assert_eq!(with_area(&store).run(id).unwrap().text(), "width?");
        assert_eq!(says("six").text(), "width?");
        assert_eq!(says("6").text(), "height?");
        let row = says("7");
        assert_eq!((row.state, row.text(), row.sequence), (State::Done, "42 acres".into(), 4));
        assert_eq!(row.value::<String>().unwrap(), "42 acres");
        assert_eq!(row.size, 0, "what is done needs no image");
        let error = with_area(&store).answer(id, "8").unwrap_err();
        assert_eq!(error.to_string(), format!("session {id} has come to an end: it is done"));
    });
}

#[test]
fn wrong_starts_and_answers_are_refused() {
    on_each("refused", |store| {
        let sessions = with_area(&store).register("typed", typed);
        let error = sessions.start("volume", &()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no routine `volume` is registered here; there are: area, typed"
        );
        let error = sessions.start("area", &(1, 2)).unwrap_err();
        assert!(matches!(error, SessionError::Arguments { .. }), "{error}");
        let nobody = SessionId::random();
        assert_eq!(sessions.answer(nobody, "x").unwrap_err(), SessionError::NoSession(nobody));
        let id = sessions.start("typed", &()).unwrap();
        sessions.run(id).unwrap();
        let error = sessions.answer(id, "not JSON").unwrap_err();
        assert!(
            error.to_string().starts_with("this is not what `typed` takes for an answer: "),
            "{error}"
        );
        // Sent past the engine, it is put aside, and what follows is heard.
        let message =
            |key: &str, body: &[u8]| NewMessage { to: id, key: key.into(), body: body.to_vec() };
        store.send(&[message("bad", b"not JSON")]).unwrap();
        assert_eq!(sessions.run(id).unwrap().sequence, 1);
        store.send(&[message("worse", b"\xff"), message("good", b"[20, 22]")]).unwrap();
        let row = sessions.run(id).unwrap();
        assert_eq!((row.text().as_str(), row.sequence), ("42", 2));
        assert_eq!(sessions.metrics().refused, 2);
    });
}

#[resumable]
async fn typed(co: &mut Co<Wait, Json<(u32, u32)>>) -> u32 {
    let Json((a, b)) = co.suspend(Wait::answer("two numbers?")).await;
    a + b
}

#[test]
fn a_session_is_started_and_answered_once() {
    on_each("once", |store| {
        let sessions = with_area(&store);
        let id = SessionId::named("order 17");
        assert!(sessions.start_as(id, "area", &("m2",)).unwrap());
        assert!(!sessions.start_as(id, "area", &("km2",)).unwrap());
        sessions.run(id).unwrap();
        // A form that was sent twice.
        assert_eq!(sessions.answer_once(id, "page 1", b"2").unwrap(), Sent::Queued);
        assert_eq!(sessions.answer_once(id, "page 1", b"2").unwrap(), Sent::Repeated);
        assert_eq!(sessions.run(id).unwrap().text(), "height?");
        assert_eq!(sessions.answer_once(id, "page 1", b"2").unwrap(), Sent::Repeated);
        assert_eq!(sessions.run(id).unwrap().text(), "height?");
    });
}

/// Sends a message, and is done.
#[resumable]
async fn tells(co: &mut Co<Wait, Wake, Stage>, to: SessionId) -> u32 {
    co.ctx().send(to, "news");
    1
}

#[test]
fn what_a_session_sends_is_no_repetition_of_a_forgotten_one() {
    on_each("lives", |store| {
        let sessions = with_area(&store).register("tells", tells);
        let (id, to) = (SessionId::named("again"), SessionId::random());
        for _life in 0..3 {
            assert!(sessions.start_as(id, "tells", &(to,)).unwrap());
            assert_eq!(sessions.run(id).unwrap().state, State::Done);
            assert_eq!(sessions.forget(Duration::ZERO).unwrap(), 1);
        }
        sessions.start_as(to, "area", &("m2",)).unwrap();
        let inbox = store.load(to).unwrap().unwrap().inbox;
        assert_eq!(inbox.iter().filter(|message| message.body == b"news").count(), 3);
    });
}

#[resumable]
async fn patient(co: &mut Co<Wait, Wake, Stage>, limit: Duration) -> String {
    let first = co.suspend(Wait::sleep(Duration::from_millis(1)).saying("asleep")).await;
    assert_eq!(first, Wake::Timeout);
    let stepped = co.suspend(Wait::step()).await;
    assert_eq!(stepped, Wake::Step);
    match co.suspend(Wait::answer_within("quick!", limit)).await {
        Wake::Answer(answer) => String::from_utf8(answer).unwrap(),
        other => format!("{other:?}"),
    }
}

#[test]
fn timers_and_limits() {
    on_each("timers", |store| {
        let sessions = Sessions::open_shared(store.clone()).register("patient", patient);
        let short = sessions.start("patient", &(Duration::from_millis(1),)).unwrap();
        let long = sessions.start("patient", &(Duration::from_secs(3600),)).unwrap();
        let workers = sessions.workers(2);
        let until = |id, state| loop {
            let row = sessions.show(id).unwrap();
            if row.state == state {
                return row;
            }
            assert!(!matches!(row.state, State::Failed | State::Quarantined), "{row:?}");
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(until(short, State::Done).text(), "Timeout");
        let waiting = until(long, State::Waiting);
        assert_eq!(waiting.text(), "quick!");
        assert!(waiting.due.is_some());
        sessions.answer(long, "here").unwrap();
        assert_eq!(until(long, State::Done).text(), "here");
        workers.drain().unwrap();
    });
}

static IS_BROKEN: AtomicBool = AtomicBool::new(true);

#[resumable]
async fn fragile(co: &mut Co<String, String, Stage>) -> String {
    let answer = co.suspend("well?".into()).await;
    co.ctx().effect("never", b"before the panic".to_vec());
    assert!(!IS_BROKEN.load(SeqCst), "no {answer} today");
    format!("yes, {answer}")
}

#[test]
fn a_step_that_panics_fails_its_session_only_and_can_be_retried() {
    on_each("panic", |store| {
        IS_BROKEN.store(true, SeqCst);
        let sessions = with_area(&store).register("fragile", fragile);
        let id = sessions.start("fragile", &()).unwrap();
        let other = sessions.start("area", &("m2",)).unwrap();
        sessions.work_off().unwrap();
        sessions.answer(id, "bananas").unwrap();
        sessions.answer(other, "5").unwrap();
        sessions.work_off().unwrap();
        let row = sessions.show(id).unwrap();
        assert_eq!((row.state, row.reason.as_str()), (State::Failed, "no bananas today"));
        assert_eq!(row.text(), "well?");
        assert_eq!(row.effects, 0, "what the step did before it panicked is not done");
        assert_eq!(sessions.show(other).unwrap().text(), "height?");
        assert_eq!(
            sessions.retry(other).unwrap_err().to_string(),
            format!(
                "session {other} is waiting: only what failed or was quarantined can be retried"
            )
        );
        sessions.retry(id).unwrap();
        assert_eq!(sessions.run(id).unwrap().state, State::Failed);
        IS_BROKEN.store(false, SeqCst);
        sessions.retry(id).unwrap();
        assert_eq!(sessions.run(id).unwrap().text(), "yes, bananas");
        assert_eq!(sessions.metrics().failed, 2);
    });
}

mod before {
    use leno_frame::{Co, resumable};

    #[resumable(id = "survey")]
    pub(crate) async fn survey(co: &mut Co<String, String>) -> String {
        let age = co.suspend("age?".into()).await;
        let town = co.suspend("town?".into()).await;
        format!("{age} {town}")
    }
}

mod after {
    use leno_frame::{Co, resumable};

    /// The age is a number now.
    #[resumable(id = "survey")]
    pub(crate) async fn survey(co: &mut Co<String, String>) -> String {
        let age: u32 = co.suspend("age?".into()).await.parse().unwrap_or(0);
        let town = co.suspend("town?".into()).await;
        format!("{} {town}", age + 1)
    }
}

#[test]
fn what_a_build_cannot_read_is_parked_and_migrated_later() {
    on_each("migrate", |store| {
        let json = || Kept::new().format(Format::Json);
        let old =
            Sessions::open_shared(store.clone()).register_as("survey", json(), before::survey);
        let id = old.start("survey", &()).unwrap();
        let fresh = old.start("survey", &()).unwrap();
        old.run(id).unwrap();
        old.answer(id, "41").unwrap();
        assert_eq!(old.run(id).unwrap().text(), "town?");
        old.answer(id, "Graz").unwrap();
        // The new build cannot read it; the others go on.
        let new = Sessions::open_shared(store.clone()).register_as(
            "survey",
            json().version(2),
            after::survey,
        );
        new.work_off().unwrap();
        let row = new.show(id).unwrap();
        assert_eq!(row.state, State::Quarantined);
        assert!(row.reason.contains("cannot restore `age`"), "{}", row.reason);
        assert_eq!(new.show(fresh).unwrap().text(), "age?");
        assert_eq!(new.metrics().quarantined, 1);
        // The old build has nothing to do with what the new one ran.
        new.answer(fresh, "7").unwrap();
        assert_eq!(old.work_off().unwrap(), 0);
        // A third one knows how to.
        let options = Options::new().migrate(|frame| {
            if let Some(age) = frame.locals.get_mut("age") {
                *age = age.as_str().and_then(|age| age.parse::<u32>().ok()).into();
            }
        });
        let kept = json().version(3).options(options);
        let newest =
            Sessions::open_shared(store.clone()).register_as("survey", kept, after::survey);
        assert_eq!(newest.retry_quarantined("survey").unwrap(), 1);
        newest.work_off().unwrap();
        assert_eq!(newest.show(id).unwrap().text(), "42 Graz");
    });
}

#[test]
fn damaged_and_unknown_sessions_keep_nobody_waiting() {
    on_each("damaged", |store| {
        let sessions = with_area(&store);
        let new = |kind: &str, image: &[u8]| NewSession {
            id: SessionId::random(),
            kind: kind.into(),
            version: 1,
            image: image.to_vec(),
        };
        let unknown = new("nobody knows", b"A[]");
        let damaged = [&b""[..], b"LF", b"LF\x01\x00\x00\x00\x00\x01", b"{", b"A{", b"A[1]"]
            .map(|image| new("area", image));
        store.create(&damaged).unwrap();
        store.create(std::slice::from_ref(&unknown)).unwrap();
        let good = sessions.start("area", &("m2",)).unwrap();
        sessions.work_off().unwrap();
        assert_eq!(sessions.show(good).unwrap().text(), "width?");
        for session in &damaged {
            let row = sessions.show(session.id).unwrap();
            assert!(row.state == State::Quarantined && !row.reason.is_empty(), "{row:?}");
            let shown = sessions.inspect(session.id).unwrap();
            assert!(
                session.image.is_empty()
                    || shown["image"]["unreadable"].is_string()
                    || shown["image"]["arguments"].is_array(),
                "{shown}"
            );
        }
        assert_eq!(sessions.show(unknown.id).unwrap().state, State::Ready);
        // Another image, which this build can read, and one that it cannot.
        let id = damaged[0].id;
        assert!(sessions.replace(id, b"nonsense".to_vec()).is_err());
        let image = store.load(good).unwrap().unwrap().image;
        sessions.replace(id, image).unwrap();
        sessions.answer(id, "1").unwrap();
        // It waits for nothing in particular: its first step would have been its start.
        assert!(sessions.run(id).is_ok());
    });
}

#[test]
fn sessions_are_inspected_cancelled_expired_and_forgotten() {
    on_each("inspect", |store| {
        let sessions = with_area(&store);
        let id = sessions.start("area", &("m2",)).unwrap();
        assert_eq!(sessions.inspect(id).unwrap()["image"]["arguments"][0], "m2");
        sessions.run(id).unwrap();
        sessions.answer(id, "6").unwrap();
        sessions.run(id).unwrap();
        let shown = sessions.inspect(id).unwrap();
        assert_eq!(shown["said"], "height?");
        assert_eq!(shown["image"]["frames"][0]["locals"]["width"], 6);
        assert_eq!(shown["image"]["frames"][1]["locals"]["question"], "height?");
        sessions.cancel(id, "no longer wanted").unwrap();
        let row = sessions.show(id).unwrap();
        assert_eq!((row.state, row.reason.as_str()), (State::Cancelled, "no longer wanted"));
        assert!(sessions.cancel(id, "again").is_err());
        let other = sessions.start("area", &("m2",)).unwrap();
        sessions.run(other).unwrap();
        assert_eq!(sessions.expire(Duration::from_secs(3600)).unwrap(), 0);
        assert_eq!(sessions.expire(Duration::ZERO).unwrap(), 1);
        assert_eq!(
            sessions.count().unwrap().into_iter().collect::<Vec<_>>(),
            [(State::Cancelled, 1), (State::Expired, 1)]
        );
        let expired = Query { state: Some(State::Expired), ..Query::default() };
        assert_eq!(sessions.list(&expired).unwrap()[0].id, other);
        assert_eq!(sessions.forget(Duration::ZERO).unwrap(), 2);
        assert!(sessions.list(&Query::default()).unwrap().is_empty());
    });
}

#[resumable]
async fn talkative(co: &mut Co<Wait, (), Stage>, count: u32) -> u32 {
    for n in 0..count {
        co.ctx().effect("said", n.to_string());
        co.suspend(Wait::step()).await;
    }
    count
}

#[test]
fn effects_are_delivered_until_they_succeed() {
    on_each("effects", |store| {
        let pace = Pace { ttl: Duration::from_millis(1), ..Pace::default() };
        let sessions =
            Sessions::open_shared(store.clone()).register("talkative", talkative).pace(pace);
        // A lease this short may run out while the session is in hand; then another turn goes on.
        let id = sessions.start("talkative", &(3,)).unwrap();
        while sessions.show(id).unwrap().state != State::Done {
            sessions.work_off().unwrap();
        }
        let (tries, mut done) = (AtomicU32::new(0), Vec::new());
        while done.len() < 3 {
            sessions
                .deliver(10, |effect| {
                    assert_eq!(effect.topic, "said");
                    // Every first try fails.
                    if tries.fetch_add(1, SeqCst) < 3 {
                        return Err("no connection");
                    }
                    done.push((effect.key(), effect.body.clone()));
                    Ok(())
                })
                .unwrap();
        }
        let expected = [0, 1, 2].map(|n| (format!("{id}/{}", n + 1), n.to_string().into_bytes()));
        assert_eq!(done, expected);
        assert_eq!(sessions.deliver(10, |_| Ok::<(), String>(())).unwrap(), 0);
        assert_eq!(sessions.metrics().delivered, 3);
    });
}

#[resumable]
async fn ping(co: &mut Co<Wait, Option<Json<u32>>, Stage>, other: SessionId, serves: bool) -> u32 {
    if serves {
        co.ctx().send_json(other, &1);
    }
    loop {
        let heard = co.suspend(Wait::answer("ball")).await;
        let count = heard.map_or(0, |Json(count)| count);
        co.ctx().send_json(other, &(count + 1));
        if count >= 20 {
            return count;
        }
    }
}

#[test]
fn sessions_send_each_other_messages() {
    on_each("messages", |store| {
        let sessions = Sessions::open_shared(store.clone()).register("ping", ping);
        let (a, b) = (SessionId::random(), SessionId::random());
        sessions.start_as(a, "ping", &(b, true)).unwrap();
        sessions.start_as(b, "ping", &(a, false)).unwrap();
        let workers = sessions.workers(3);
        while sessions.count().unwrap().get(&State::Done) != Some(&2) {
            std::thread::sleep(Duration::from_millis(1));
        }
        workers.drain().unwrap();
        let last = [a, b].map(|id| sessions.show(id).unwrap().value::<u32>().unwrap());
        assert_eq!(last.iter().max(), Some(&21));
        assert_eq!(last.iter().min(), Some(&20));
    });
}

#[test]
fn draining_stores_what_is_in_hand() {
    on_each("drain", |store| {
        let sessions = Sessions::open_shared(store.clone()).register("talkative", talkative);
        let ids: Vec<_> = (0..20).map(|_| (SessionId::random(), (1000,))).collect();
        assert_eq!(sessions.start_all("talkative", ids).unwrap(), 20);
        let workers = sessions.workers(2);
        while sessions.metrics().stored < 100 {
            std::thread::yield_now();
        }
        workers.drain().unwrap();
        let rows = sessions.list(&Query::default()).unwrap();
        assert!(
            rows.iter().all(|row| matches!(row.state, State::Ready | State::Done)),
            "no lease is left"
        );
        let metrics = sessions.metrics();
        assert_eq!(rows.iter().map(|row| row.sequence).sum::<u64>(), metrics.stored, "{metrics}");
        assert_eq!((metrics.fenced, metrics.started), (0, 20));
        assert!(metrics.commits < metrics.stored, "steps are stored in batches");
    });
}

/// Goes on for ever.
#[resumable]
async fn busy(co: &mut Co<Wait, ()>) -> u32 {
    loop {
        co.suspend(Wait::step()).await;
    }
}

#[resumable]
async fn modest(co: &mut Co<Wait, ()>) -> u32 {
    co.suspend(Wait::step()).await;
    1
}

/// Of one kind there is always something to do; sessions of another get their turns all the same.
#[test]
fn kinds_take_turns() {
    on_each("turns", |store| {
        let pace = Pace { batch: 1, rounds: 1, ..Pace::default() };
        let sessions = Sessions::open_shared(store).register("a-busy", busy).register("b", modest);
        let sessions = sessions.pace(pace);
        (0..3).for_each(|_| assert!(sessions.start("a-busy", &()).is_ok()));
        let id = sessions.start("b", &()).unwrap();
        let workers = sessions.workers(1);
        let begun = std::time::Instant::now();
        while sessions.show(id).unwrap().state != State::Done {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never gets a turn");
            std::thread::sleep(Duration::from_millis(2));
        }
        workers.drain().unwrap();
    });
}

/// Workers are coroutines here, and so is whoever answers.
#[test]
fn workers_may_be_coroutines() {
    on_each("coroutines", |store| {
        let sessions = with_area(&store);
        let stop = Arc::new(AtomicBool::new(false));
        let system = leno_kernel::LocalSystem::new();
        let worker = {
            let (sessions, stop) = (sessions.clone(), stop.clone());
            system.spawn(move || sessions.work(&stop))
        };
        let said = system.spawn(move || {
            let id = sessions.start("area", &("m2",)).unwrap();
            for answer in ["6", "7"] {
                sessions.run(id).unwrap();
                sessions.answer(id, answer).unwrap();
            }
            let row = sessions.run(id).unwrap();
            stop.store(true, SeqCst);
            row.text()
        });
        system.run().unwrap();
        assert_eq!(said.join().unwrap(), "42 m2");
        worker.join().unwrap().unwrap();
    });
}

#[resumable]
async fn shopper(co: &mut Co<Wait, (), Stage>) -> u32 {
    let prices = co.ctx().get::<Vec<u32>>();
    prices.iter().sum()
}

#[test]
fn an_engine_provides() {
    let sessions = Sessions::open(Memory::new()).register("shopper", shopper);
    let id = sessions.start("shopper", &()).unwrap();
    assert_eq!(
        sessions.run(id).unwrap().reason,
        "no `alloc::vec::Vec<u32>` was given to the engine by `provide`"
    );
    let sessions = sessions.provide(Arc::new(vec![20_u32, 22]));
    sessions.retry(id).unwrap();
    assert_eq!(sessions.run(id).unwrap().value(), Some(42));
}

#[test]
fn stores_have_addresses() {
    let folder = crate::support::Folder::new("addresses");
    let path = folder.file("store");
    for address in
        ["memory".into(), format!("sqlite:{}", path.display()), path.display().to_string()]
    {
        assert!(store::open(&address).is_ok(), "{address}");
    }
    assert!(path.exists());
}
