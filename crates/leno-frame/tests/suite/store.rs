//! Storing and restoring: what frames hold, what is refused, what stays the same (Stadler 2011).
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use leno_frame::{
    Co, Entry, Ext, Format, Image, ImageError, Options, Persist, RestoreError, Resumable,
    ResumeError, Routine, Shared, State, StoreError, iterate, resumable,
};
use serde::{Deserialize, Serialize};

const FORMATS: [Format; 2] = [Format::Postcard, Format::Json];

/// The coroutine that starts with `R`.
type Of<R> = Resumable<
    <R as Routine>::Yield,
    <R as Routine>::Input,
    <R as Routine>::Output,
    <R as Routine>::Context,
>;

/// Stores a coroutine and restores it from bytes.
fn again<R, A, F>(
    resumable: &mut Of<R>,
    entry: F,
    format: Format,
    options: &Options,
) -> Result<Of<R>, RestoreError>
where
    R: Routine,
    F: Entry<R, A>,
{
    let bytes = resumable.snapshot(format).expect("it can be stored").into_bytes();
    Resumable::restore(entry, &Image::from_bytes(bytes)?, options)
}

#[resumable]
async fn leaf(co: &mut Co<u32, u32>, base: u32) -> u32 {
    base + co.suspend(base).await
}

#[resumable]
async fn sum(co: &mut Co<u32, u32>, word: String, base: u32) -> String {
    let doubled = base * 2;
    let total = doubled + leaf(co, base).await * leaf(co, 5).await;
    format!("{word} {total} {doubled}")
}

#[test]
fn s60_an_image_is_a_list_of_frames() {
    let (mut summing, _) = Resumable::start(&mut (), sum, ("total".into(), 3));
    summing.resume(&mut (), 4);
    let frames = summing.snapshot(Format::Json).unwrap().frames().unwrap();
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0].function, concat!(module_path!(), "::sum"));
    assert!(frames[0].point.starts_with("leaf~"), "{:?}", frames[0]);
    assert_eq!(frames[0].locals["word"], "total");
    assert_eq!(frames[0].locals["doubled"], 6);
    let expression: Vec<_> = frames[0].expression().map(|(_, value)| value.clone()).collect();
    assert_eq!(expression, [7], "the first call has returned 3 + 4");
    assert_eq!(
        (&*frames[1].function, &*frames[1].point),
        (concat!(module_path!(), "::leaf"), "suspend")
    );
    assert_eq!(frames[1].locals["base"], 5);
}

struct Board(Mutex<Vec<String>>);

#[resumable]
async fn mixed(co: &mut Co<u32, u32>, board: Ext<Board>) -> u32 {
    let notes = Shared::new(Mutex::new(vec![1u32]));
    let (scalar, text) = (7u32, String::from("x"));
    let got = scalar + co.suspend(1).await;
    notes.lock().unwrap().push(got);
    board.0.lock().unwrap().push(text);
    got
}

#[test]
fn s61_values_are_scalars_or_references_and_there_are_as_many_as_locals_and_temporaries() {
    let board = Arc::new(Board(Mutex::default()));
    let (mut mixing, _) = Resumable::start(&mut (), mixed, (Ext::new("board", board),));
    let frames = mixing.snapshot(Format::Json).unwrap().frames().unwrap();
    let frame = &frames[0];
    let of = |name: &str| frame.reference(name);
    assert_eq!(of("board").as_deref(), Some("board"));
    assert_eq!(of("notes").as_deref(), Some("0"));
    assert_eq!((of("text"), of("scalar")), (None, None));
    assert_eq!(frame.variables().count() + frame.expression().count(), frame.locals.len());
    assert_eq!(frame.locals.len(), 4);
}

#[resumable]
async fn aliases(co: &mut Co<usize, u32>) -> Vec<u32> {
    let list = Shared::new(Mutex::new(Vec::new()));
    let alias = list.clone();
    inner(co, alias).await;
    let all = list.lock().unwrap().clone();
    all
}

#[resumable]
async fn inner(co: &mut Co<usize, u32>, list: Shared<Mutex<Vec<u32>>>) {
    for _ in 0..3 {
        let length = list.lock().unwrap().len();
        let got = co.suspend(length).await;
        list.lock().unwrap().push(got);
    }
}

#[test]
fn s62_what_frames_share_they_still_share_when_restored() {
    for format in FORMATS {
        let (mut aliasing, _) = Resumable::start(&mut (), aliases, ());
        for i in 0..2 {
            aliasing = again(&mut aliasing, aliases, format, &Options::new()).unwrap();
            aliasing.resume(&mut (), i);
        }
        assert_eq!(aliasing.resume(&mut (), 2), State::Complete(vec![0, 1, 2]));
    }
}

#[resumable]
async fn fragile(co: &mut Co<u32, u32>) -> u32 {
    let got = co.suspend(1).await;
    assert_ne!(got, 13, "unlucky");
    got
}

#[test]
fn s63_what_has_completed_is_not_stored() {
    let (mut done, _) = Resumable::start(&mut (), fragile, ());
    assert_eq!(done.resume(&mut (), 2), State::Complete(2));
    assert_eq!(done.snapshot(Format::Postcard), Err(StoreError::Completed));
    assert!(matches!(done.try_resume(&mut (), 8), Err(ResumeError::Completed(8))));
    assert!(done.is_complete());
}

#[test]
fn s63_what_has_panicked_is_not_stored_and_its_last_image_goes_on() {
    let (mut broken, _) = Resumable::start(&mut (), fragile, ());
    let image = broken.snapshot(Format::Postcard).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| broken.resume(&mut (), 13))).is_err());
    assert_eq!(broken.snapshot(Format::Postcard), Err(StoreError::Poisoned));
    assert!(matches!(broken.try_resume(&mut (), 8), Err(ResumeError::Poisoned(8))));
    let mut restored = Resumable::restore(fragile, &image, &Options::new()).unwrap();
    assert_eq!(restored.resume(&mut (), 7), State::Complete(7));
}

/// Refuses to be written, or panics, when it holds certain values.
#[derive(Deserialize, Clone, Copy)]
struct Moody(u32);

impl Serialize for Moody {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.0, 1, "not now");
        if self.0 == 2 {
            return Err(serde::ser::Error::custom("never"));
        }
        self.0.serialize(serializer)
    }
}

#[resumable]
async fn moody_at_once(co: &mut Co<u32, u32>, mood: u32) -> u32 {
    let mood = Moody(mood);
    co.suspend(0).await + mood.0
}

#[test]
fn s63_a_serialize_that_panics_or_fails_is_reported_by_the_name_of_the_local() {
    for (mood, cause) in [(1, "its `Serialize` panicked"), (2, "")] {
        for format in FORMATS {
            let (mut co, _) = Resumable::start(&mut (), moody_at_once, (mood,));
            let error = co.snapshot(format).unwrap_err();
            let StoreError::Encode { function, point, local, .. } = &error else {
                panic!("{error}")
            };
            assert_eq!((*function, *local), (concat!(module_path!(), "::moody_at_once"), "mood"));
            assert!(point.starts_with("suspend") && error.to_string().contains(cause), "{error}");
            assert_eq!(co.resume(&mut (), 10), State::Complete(10 + mood));
        }
    }
}

#[test]
fn s64_frames_are_put_in_place_of_those_a_coroutine_has() {
    let (mut one, _) = Resumable::start(&mut (), sum, ("one".into(), 3));
    let early = one.snapshot(Format::Postcard).unwrap();
    one.resume(&mut (), 4);
    one.replace(sum, &early, &Options::new()).unwrap();
    one.resume(&mut (), 0);
    assert_eq!(one.resume(&mut (), 0), State::Complete("one 21 6".into()));
    // One that has completed can be given frames as well; a wrong image changes nothing.
    one.replace(sum, &early, &Options::new()).unwrap();
    let (mut other, _) = Resumable::start(&mut (), fragile, ());
    let other = other.snapshot(Format::Postcard).unwrap();
    assert!(one.replace(sum, &other, &Options::new()).is_err());
    assert_eq!(one.depth(), 2);
}

#[resumable]
async fn deep(co: &mut Co<u32>, n: u32) -> u64 {
    if n == 0 {
        co.suspend(0).await;
        return 0;
    }
    let below = deep(co, n - 1).await;
    below + u64::from(n)
}

#[test]
fn s65_nested_frames_go_on_where_they_were_at_any_depth() {
    const DEPTH: u32 = if cfg!(miri) { 50 } else { 100_000 };
    let run = || {
        let (mut co, _) = Resumable::start(&mut (), deep, (DEPTH,));
        assert_eq!(co.depth(), DEPTH as usize + 1);
        for format in FORMATS {
            co = again(&mut co, deep, format, &Options::new()).unwrap();
        }
        let n = u64::from(DEPTH);
        assert_eq!(co.resume(&mut (), ()), State::Complete(n * (n + 1) / 2));
        drop(Resumable::start(&mut (), deep, (DEPTH,)));
    };
    // On a stack of 256 KiB: depth is in frames, not on the native stack.
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

#[resumable]
async fn in_an_expression(co: &mut Co<u32, u32>) -> (u32, String) {
    (1 + co.suspend(1).await, "a".to_string() + &co.suspend(2).await.to_string())
}

#[test]
fn s66_temporaries_of_an_expression_are_kept() {
    for format in FORMATS {
        let (mut co, _) = Resumable::start(&mut (), in_an_expression, ());
        co = again(&mut co, in_an_expression, format, &Options::new()).unwrap();
        co.resume(&mut (), 41);
        co = again(&mut co, in_an_expression, format, &Options::new()).unwrap();
        assert_eq!(co.resume(&mut (), 9), State::Complete((42, "a9".into())));
    }
}

#[resumable]
async fn posting(co: &mut Co<String, String>, board: Ext<Board>) -> usize {
    for _ in 0..2 {
        let line = co.suspend(board.name().into()).await;
        board.0.lock().unwrap().push(line);
    }
    let count = board.0.lock().unwrap().len();
    count
}

#[test]
fn s67_externals_are_stored_by_name_and_bound_where_they_are_restored() {
    for format in FORMATS {
        let (here, there) = (Arc::new(Board(Mutex::default())), Arc::new(Board(Mutex::default())));
        let (mut co, _) = Resumable::start(&mut (), posting, (Ext::new("board", here.clone()),));
        co.resume(&mut (), "first".into());
        let error = again(&mut co, posting, format, &Options::new()).unwrap_err().to_string();
        assert!(error.contains("external `board`") && error.contains("not bound"), "{error}");
        let options = Options::new().bind("board", there.clone());
        let mut co = again(&mut co, posting, format, &options).unwrap();
        assert_eq!(co.resume(&mut (), "second".into()), State::Complete(1));
        assert_eq!(*here.0.lock().unwrap(), ["first"]);
        assert_eq!(*there.0.lock().unwrap(), ["second"]);
    }
}

#[test]
fn s68_both_the_original_and_its_images_go_on() {
    let (mut original, _) = Resumable::start(&mut (), sum, ("fork".into(), 3));
    let image = original.snapshot(Format::Postcard).unwrap();
    let finish = |mut co: Resumable<u32, u32, String>, first| {
        co.resume(&mut (), first);
        co.resume(&mut (), 0).complete()
    };
    let forked = |first| (Resumable::restore(sum, &image, &Options::new()).unwrap(), first);
    for (co, first) in [forked(1), (original, 2), forked(3)] {
        assert_eq!(finish(co, first), Some(format!("fork {} 6", 6 + (3 + first) * 5)));
    }
}

#[resumable]
async fn product(co: &mut Co<u32, u32>, base: u32) -> u32 {
    base * co.suspend(base).await
}

#[test]
fn s69_a_local_and_a_function_may_be_replaced_before_restoring() {
    let (mut co, _) = Resumable::start(&mut (), leaf, (3,));
    let mut frames = co.snapshot(Format::Json).unwrap().frames().unwrap();
    frames[0].locals["base"] = 100.into();
    let edited = Image::from_frames(frames.clone());
    let mut co = Resumable::restore(leaf, &edited, &Options::new()).unwrap();
    assert_eq!(co.resume(&mut (), 1), State::Complete(101));
    frames[0].function = concat!(module_path!(), "::product").into();
    let edited = Image::from_bytes(Image::from_frames(frames).into_bytes()).unwrap();
    let mut co = Resumable::restore(product, &edited, &Options::new()).unwrap();
    assert_eq!(co.resume(&mut (), 7), State::Complete(700));
}

#[test]
fn s69_a_compact_image_is_edited_as_json() {
    let (mut co, _) = Resumable::start(&mut (), leaf, (3,));
    let image = co.snapshot(Format::Postcard).unwrap();
    assert_eq!(image.frames(), Err(ImageError::NoNames));
    let json = Resumable::transcode(leaf, &image, Format::Json, &Options::new()).unwrap();
    let mut frames = json.frames().unwrap();
    frames[0].locals["base"] = 8.into();
    let json = Image::from_frames(frames);
    let compact = Resumable::transcode(leaf, &json, Format::Postcard, &Options::new()).unwrap();
    let mut co = Resumable::restore(leaf, &compact, &Options::new()).unwrap();
    assert_eq!(co.resume(&mut (), 1), State::Complete(9));
}

#[test]
fn e18_storing_does_not_consume_the_coroutine() {
    let (mut co, _) = Resumable::start(&mut (), leaf, (3,));
    let images: Vec<Image> = (0..3).map(|_| co.snapshot(Format::Postcard).unwrap()).collect();
    assert!(images.iter().all(|image| *image == images[0]));
    assert_eq!(co.resume(&mut (), 4), State::Complete(7));
}

/// A journal: a function of its inputs is stored as those inputs. Frames cut the replay short.
#[test]
fn c12_a_journal_of_inputs_and_frames_restore_the_same() {
    let inputs = [4, 7];
    let start = || Resumable::start(&mut (), sum, ("journal".into(), 3)).0;
    let mut framed = start();
    framed.resume(&mut (), inputs[0]);
    let mut framed = again(&mut framed, sum, Format::Postcard, &Options::new()).unwrap();
    let mut replayed = start();
    for input in &inputs[..1] {
        replayed.resume(&mut (), *input);
    }
    let (image, other) =
        (framed.snapshot(Format::Postcard).unwrap(), replayed.snapshot(Format::Postcard).unwrap());
    assert_eq!(image, other);
    assert_eq!(framed.resume(&mut (), inputs[1]), replayed.resume(&mut (), inputs[1]));
}

#[resumable]
async fn fold<T, U, const N: usize>(co: &mut Co<T, U>, items: [T; N], start: U) -> Vec<U>
where
    T: Persist + Clone,
    U: Persist + Clone + std::ops::Add<Output = U>,
{
    let (mut sum, mut all) = (start, Vec::new());
    for item in items {
        let added = co.suspend(item).await;
        sum = sum + added;
        all.push(sum.clone());
    }
    all
}

#[test]
fn generic_functions_are_stored_with_the_types_they_have() {
    for format in FORMATS {
        let entry = fold::<String, f32, 3>;
        let items = ["a", "b", "c"].map(String::from);
        let (mut co, mut state) = Resumable::start(&mut (), entry, (items.clone(), 0.5));
        for (i, item) in items.iter().enumerate() {
            assert_eq!(state, State::Suspended(item.clone()));
            co = again(&mut co, entry, format, &Options::new()).unwrap();
            state = co.resume(&mut (), i as f32);
        }
        assert_eq!(state, State::Complete(vec![0.5, 1.5, 3.5]));
    }
    let (mut co, _) = Resumable::start(&mut (), fold::<u8, u8, 2>, ([1, 2], 0));
    let image = co.snapshot(Format::Postcard).unwrap();
    let error = Resumable::restore(fold::<u8, u16, 2>, &image, &Options::new()).unwrap_err();
    assert!(matches!(error, RestoreError::OtherShape { .. }), "{error}");
}

#[derive(Serialize, Deserialize, Clone)]
struct Agent<K> {
    name: String,
    visited: Vec<K>,
}

#[resumable]
impl<K: Persist + Clone + std::fmt::Debug> Agent<K> {
    async fn travel(mut self, co: &mut Co<String, K>, hops: u32) -> Self {
        for _ in 0..hops {
            let host = co.suspend(format!("{}@{:?}", self.name, self.visited.last())).await;
            self = self.note(co, host).await;
        }
        self
    }

    async fn note(mut self, co: &mut Co<String, K>, host: K) -> Agent<K> {
        self.visited.push(host.clone());
        let more = Self::first(co, vec![host]).await;
        self.visited.extend(more);
        self
    }

    async fn first(co: &mut Co<String, K>, from: Vec<K>) -> Option<K> {
        co.suspend("first".into()).await;
        from.into_iter().next()
    }
}

#[test]
fn methods_are_stored_with_the_object_they_belong_to() {
    let agent = Agent { name: "smith".into(), visited: vec![] };
    let entry = |co: &mut Co<String, u8>, agent: Agent<u8>, hops: u32| agent.travel(co, hops);
    let (mut co, mut state) = Resumable::start(&mut (), entry, (agent, 2));
    let frames = co.snapshot(Format::Json).unwrap().frames().unwrap();
    assert_eq!(frames[0].locals["self"]["name"], "smith");
    let (mut yields, mut input) = (Vec::new(), 0);
    let agent = loop {
        match state {
            State::Suspended(value) => yields.push(value),
            State::Complete(agent) => break agent,
        }
        co = again(&mut co, entry, FORMATS[usize::from(input) % 2], &Options::new()).unwrap();
        input += 1;
        state = co.resume(&mut (), input);
    };
    assert_eq!(yields, ["smith@None", "first", "smith@Some(1)", "first"]);
    assert_eq!(agent.visited, [1, 1, 3, 3]);
}

#[resumable]
trait Step {
    async fn step(self, co: &mut Co<u32, u32>, by: u32) -> u32;
}

#[derive(Serialize, Deserialize)]
struct Twice;
#[derive(Serialize, Deserialize)]
struct Plus(u32);

#[resumable]
impl Step for Twice {
    async fn step(self, co: &mut Co<u32, u32>, by: u32) -> u32 {
        2 * co.suspend(by).await
    }
}

#[resumable]
impl Step for Plus {
    async fn step(self, co: &mut Co<u32, u32>, by: u32) -> u32 {
        let got = co.suspend(by).await;
        self.0 + got
    }
}

#[resumable]
async fn steps<A: Step + Persist, B: Step + Persist>(co: &mut Co<u32, u32>, a: A, b: B) -> u32 {
    let first = a.step(co, 1).await;
    first + b.step(co, first).await
}

#[test]
fn functions_of_traits_are_stored_by_the_type_that_implements_them() {
    for format in FORMATS {
        let entry = steps::<Twice, Plus>;
        let (mut co, _) = Resumable::start(&mut (), entry, (Twice, Plus(100)));
        co = again(&mut co, entry, format, &Options::new()).unwrap();
        assert_eq!(co.resume(&mut (), 5), State::Suspended(10));
        co = again(&mut co, entry, format, &Options::new()).unwrap();
        assert_eq!(co.resume(&mut (), 1), State::Complete(111));
    }
}

struct World {
    lines: Vec<String>,
}

#[resumable]
async fn writer(co: &mut Co<u32, u32, World>, count: u32) -> usize {
    for i in 0..count {
        let got = co.suspend(i).await;
        let world = co.ctx();
        world.lines.push(got.to_string());
    }
    co.ctx().lines.len()
}

#[test]
fn a_context_is_lent_anew_by_each_resume() {
    let mut world = World { lines: vec![] };
    let (mut co, mut state) = Resumable::start(&mut world, writer, (3,));
    for i in 0..3 {
        assert_eq!(state, State::Suspended(i));
        co = again(&mut co, writer, Format::Json, &Options::new()).unwrap();
        state = co.resume(&mut world, i * 10);
    }
    assert_eq!(state, State::Complete(3));
    assert_eq!(world.lines, ["0", "10", "20"]);
}

#[resumable]
async fn count_down(co: &mut Co<u32>, from: u32) {
    for i in (0..from).rev().collect::<Vec<_>>() {
        co.suspend(i).await;
    }
}

#[test]
fn without_input_it_is_an_iterator_that_can_be_stored_between_two_items() {
    let mut items = iterate(count_down, (5,));
    assert!(items.resumable().is_none());
    assert_eq!(items.by_ref().take(2).collect::<Vec<_>>(), [4, 3]);
    let image = items.resumable().unwrap().snapshot(Format::Postcard).unwrap();
    assert_eq!(items.collect::<Vec<_>>(), [2, 1, 0]);
    let mut again = Resumable::restore(count_down, &image, &Options::new()).unwrap();
    assert_eq!(again.by_ref().collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(again.next(), None);
}

#[test]
fn frames_move_between_threads() {
    let (mut co, _) = Resumable::start(&mut (), sum, ("moved".into(), 3));
    let image = std::thread::spawn(move || {
        co.resume(&mut (), 4);
        co.snapshot(Format::Postcard).unwrap()
    });
    let image = image.join().unwrap();
    let mut co = Resumable::restore(sum, &image, &Options::new()).unwrap();
    assert_eq!(co.resume(&mut (), 0), State::Complete("moved 41 6".into()));
}

/// Waits once, for nobody.
struct Foreign(bool);

impl Future for Foreign {
    type Output = ();

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    }
}

/// Writes into the context when it is dropped.
struct OnDrop<'a>(&'a mut Vec<u32>);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.push(1);
    }
}

macro_rules! hidden {
    () => {
        Foreign(false).await
    };
}

#[resumable]
async fn stray(co: &mut Co<u32, u32, Vec<u32>>) -> u32 {
    co.suspend(0).await;
    {
        let on_drop = OnDrop(co.ctx());
        hidden!();
        on_drop.0.push(2);
    }
    co.suspend(0).await
}

#[test]
fn a_stray_future_is_dropped_while_the_context_is_lent() {
    let mut context = Vec::new();
    let (mut co, _) = Resumable::start(&mut context, stray, ());
    let resumed = catch_unwind(AssertUnwindSafe(|| co.resume(&mut context, 1)));
    let message = *resumed.unwrap_err().downcast::<&str>().unwrap();
    assert!(message.contains("inside a macro"), "{message}");
    assert_eq!(context, [1]);
    assert!(co.is_poisoned() && co.depth() == 0);
    drop(context);
    drop(co);
}
