//! Coroutines of frames that are stored and restored on the stacks of other coroutines: small ones, and several at once,
//! because a `Serialize` suspends.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::process::Command;

use leno_coroutine::{Builder, Coroutine, Suspender, ring, stack_left};
use leno_frame::{Co, Format, Image, ImageError, Options, Resumable, Shared, State, resumable};
use serde::{Deserialize, Serialize, Serializer};

const FORMATS: [Format; 2] = [Format::Postcard, Format::Json];

/// Runs the test of this name in a process of its own, which an overflow would end; `true` in that process.
fn is_child(test: &str) -> bool {
    is_child_by(Command::new(std::env::current_exe().unwrap()), test)
}

/// As [`is_child`], with a command that runs this program with the arguments it is given.
fn is_child_by(mut child: Command, test: &str) -> bool {
    if std::env::var_os("LENO_FRAME_CHILD").is_some() {
        return true;
    }
    let (_crate, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::{test}");
    child.args(["--exact", &*test, "--nocapture"]).env("LENO_FRAME_CHILD", "1");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("1 passed"), "the child ran no test: {shown}");
    println!("{shown}");
    false
}

/// Runs `body` on a stack of this size.
fn on_stack<R: 'static>(size: usize, body: impl FnOnce() -> R + 'static) -> R {
    let body = |_: &Suspender<(), ()>, ()| body();
    let coroutine = Builder::new().stack_size(size).coroutine(body).unwrap();
    coroutine.resume(()).finished().unwrap()
}

const SIZES: [usize; 4] = [16 << 10, 32 << 10, 64 << 10, 256 << 10];

#[test]
#[cfg_attr(any(leno_baton, miri), ignore = "stacks are those of threads")]
fn json_is_looked_at_or_refused_on_any_stack() {
    if !is_child("json_is_looked_at_or_refused_on_any_stack") {
        return;
    }
    for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
        for size in SIZES {
            let mut read = 0;
            for depth in [0, 1, 2, 4, 8, 20, 60, 100, 120, 1_000, 1_000_000] {
                let value = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let text = format!(
                    "{{\"leno\":1,\"frames\":[{{\"fn\":\"x\",\"at\":\"y\",\"locals\":{{\"a\":{value}}}}}]}}"
                );
                let image = on_stack(size, move || {
                    let image = Image::from_bytes(text)?;
                    let frames = image.frames()?;
                    let again = Image::from_frames(frames);
                    assert_eq!(again.depth(), 1);
                    Ok::<_, ImageError>(image.depth())
                });
                match image {
                    Ok(frames) => (assert_eq!(frames, 1), read = depth).1,
                    Err(error) => {
                        let text = error.to_string();
                        let limit =
                            text.contains("bytes are left") || text.contains("recursion limit");
                        assert!(limit && (depth > 0 || size < 64 << 10), "{text}");
                    }
                }
            }
            println!("json {open}: {size} bytes of stack for {read} levels");
            assert!(size < 64 << 10 || read > 4);
        }
    }
}

#[derive(Serialize, Deserialize, Debug, Clone)]
struct Wide {
    numbers: [u64; 8],
    text: Option<String>,
    next: List,
}

#[derive(Serialize, Deserialize, Debug, Clone)]
enum List {
    Nil,
    Cons(Box<Wide>),
}

#[resumable]
async fn nested(co: &mut Co<u32>, depth: u32) -> u32 {
    let mut list = List::Nil;
    for _ in 0..depth {
        list = List::Cons(Box::new(Wide { numbers: [1; 8], text: None, next: list }));
    }
    co.suspend(1).await;
    u32::from(matches!(list, List::Nil))
}

/// On the stack of the thread, which has room.
fn nested_image(depth: u32, format: Format) -> Vec<u8> {
    let (mut co, _) = Resumable::start(&mut (), nested, (depth,));
    co.snapshot(format).unwrap().into_bytes()
}

#[test]
#[cfg_attr(any(leno_baton, miri), ignore = "stacks are those of threads")]
fn recursive_values_are_restored_or_refused_on_any_stack() {
    if !is_child("recursive_values_are_restored_or_refused_on_any_stack") {
        return;
    }
    for format in FORMATS {
        for size in SIZES {
            let mut read = 0;
            for depth in [0, 1, 2, 5, 10, 20, 30, 40, 42, 60, 63, 64, 100] {
                let Ok(image) = Image::from_bytes(nested_image(depth, format)) else { continue };
                let restored = on_stack(size, move || {
                    let restored =
                        Resumable::<u32, (), u32>::restore(nested, &image, &Options::new());
                    restored.map(|co| co.depth())
                });
                match restored {
                    Ok(frames) => (assert_eq!(frames, 1), read = depth).1,
                    Err(error) => {
                        let text = error.to_string();
                        assert!(text.contains("deep"), "{text}");
                    }
                }
            }
            println!("{format:?}: {size} bytes of stack to restore {read} levels");
            assert!(size < 64 << 10 || read > 1);
        }
    }
}

#[test]
#[cfg_attr(any(leno_baton, miri), ignore = "stacks are those of threads")]
fn recursive_values_are_stored_or_refused_on_any_stack_and_go_on() {
    if !is_child("recursive_values_are_stored_or_refused_on_any_stack_and_go_on") {
        return;
    }
    for format in FORMATS {
        for size in SIZES {
            let mut stored = 0;
            for depth in [0, 1, 2, 5, 10, 20, 50, 100, 1_000] {
                // Shapes are found out by recursion, too, of the type and not of its values.
                let (mut co, _) = Resumable::start(&mut (), nested, (depth,));
                let (mut co, image) = on_stack(size, move || {
                    let image = co.snapshot(format);
                    (co, image)
                });
                match image {
                    Ok(_) => stored = depth,
                    Err(error) => assert!(error.to_string().contains("bytes are left"), "{error}"),
                }
                assert_eq!(co.resume(&mut (), ()), State::Complete(u32::from(depth == 0)));
            }
            println!("{format:?}: {size} bytes of stack to store {stored} levels");
            assert!(size < 64 << 10 || stored > 1);
        }
    }
}

/// Large values, maps and numbers with a fraction take more stack than others.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
struct Bulky {
    rows: [[u64; 32]; 4],
    ratio: f64,
    inside: BTreeMap<String, Bulky>,
}

#[resumable]
async fn bulky(co: &mut Co<u32>, depth: u32) -> f64 {
    let mut bulky = Bulky { ratio: 1.0 / 3.0, ..Bulky::default() };
    for _ in 0..depth {
        bulky = Bulky { ratio: 0.1, inside: [("a".into(), bulky)].into(), ..Bulky::default() };
    }
    co.suspend(1).await;
    bulky.ratio
}

#[test]
#[cfg_attr(any(leno_baton, miri), ignore = "stacks are those of threads")]
fn large_values_are_restored_or_refused_on_any_stack() {
    if !is_child("large_values_are_restored_or_refused_on_any_stack") {
        return;
    }
    for format in FORMATS {
        // The function itself needs more than the smallest ones.
        for size in [64 << 10, 128 << 10, 256 << 10] {
            let mut read = 0;
            for depth in 0..30 {
                let (mut co, _) = Resumable::start(&mut (), bulky, (depth,));
                let image = co.snapshot(format).unwrap();
                let restored = on_stack(size, move || {
                    Resumable::<u32, (), f64>::restore(bulky, &image, &Options::new())
                });
                match restored {
                    Ok(mut co) => {
                        assert!(co.resume(&mut (), ()).complete() > Some(0.0));
                        read = depth;
                    }
                    Err(error) => assert!(error.to_string().contains("deep"), "{error}"),
                }
            }
            println!("{format:?}: {size} bytes of stack to restore {read} large levels");
            assert!(size < 256 << 10 || read > 0);
        }
    }
}

thread_local! {
    /// Whether a [`Slow`] lets others run while it is written or read.
    static YIELDS: Cell<bool> = const { Cell::new(false) };
    static IMAGES: RefCell<BTreeMap<&'static str, Image>> = const { RefCell::new(BTreeMap::new()) };
}

fn others_run() {
    if YIELDS.get() {
        ring::yield_now();
    }
}

#[derive(Debug, Clone)]
struct Slow(u32);

impl Serialize for Slow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        others_run();
        serializer.serialize_newtype_struct("Slow", &self.0)
    }
}

impl<'de> Deserialize<'de> for Slow {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        others_run();
        u32::deserialize(deserializer).map(Slow)
    }
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct Named {
    name: String,
}

/// serde keeps what is flattened for later, so its serializer cannot be asked.
#[derive(Serialize, Deserialize, Clone, Debug)]
struct Flat {
    #[serde(flatten)]
    named: Shared<Named>,
    slow: Slow,
}

#[resumable]
async fn anna(co: &mut Co<u32>, flat: Option<Flat>) -> String {
    let a = Shared::new("first".to_string());
    let slow = Slow(7);
    let b = Shared::new("second".to_string());
    let again = Slow(8);
    let d = a.clone();
    let flats = [flat.clone(), flat];
    co.suspend(1).await;
    let same = match &flats {
        [Some(one), Some(other)] => one.named.same(&other.named) && one.named.name == "anna",
        _ => true,
    };
    format!("{a:?} {d:?} {} {b:?} {slow:?} {again:?} {same}", a.same(&d))
}

#[resumable]
async fn bert(co: &mut Co<u32>, flat: Option<Flat>) -> String {
    let slow = Slow(1);
    let mine = Shared::new("bert's".to_string());
    let flats = [flat.clone(), flat];
    let last = mine.clone();
    co.suspend(1).await;
    let same = match &flats {
        [Some(one), Some(other)] => one.named.same(&other.named) && one.named.name == "bert",
        _ => true,
    };
    format!("{slow:?} {mine:?} {} {same}", mine.same(&last))
}

const ANNA: &str = "\"first\" \"first\" true \"second\" Slow(7) Slow(8) true";
const BERT: &str = "Slow(1) \"bert's\" true true";

fn flat(format: Format, name: &str) -> Option<Flat> {
    let named = Shared::new(Named { name: name.into() });
    (format == Format::Json).then_some(Flat { named, slow: Slow(3) })
}

/// Two coroutines are stored at once, and restored at once, in turns.
#[test]
fn coroutines_that_are_stored_at_once_keep_their_shared_values_apart() {
    for format in FORMATS {
        // Types are looked at first: what is traced is not told apart.
        for yields in [false, true] {
            YIELDS.set(yields);
            ring::scope(|s| {
                s.spawn(|| {
                    let (mut co, _) = Resumable::start(&mut (), bert, (flat(format, "bert"),));
                    let image = co.snapshot(format).unwrap();
                    IMAGES.with_borrow_mut(|images| images.insert("bert", image));
                });
                s.spawn(|| {
                    let (mut co, _) = Resumable::start(&mut (), anna, (flat(format, "anna"),));
                    let image = co.snapshot(format).unwrap();
                    IMAGES.with_borrow_mut(|images| images.insert("anna", image));
                });
                ring::run();
            });
            YIELDS.set(false);
            let images = IMAGES.take();
            let mut one = Resumable::restore(anna, &images["anna"], &Options::new()).unwrap();
            assert_eq!(one.resume(&mut (), ()), State::Complete(ANNA.into()));
            let mut other = Resumable::restore(bert, &images["bert"], &Options::new()).unwrap();
            assert_eq!(other.resume(&mut (), ()), State::Complete(BERT.into()));
            YIELDS.set(yields);
            let ended = Cell::new(0);
            ring::scope(|s| {
                s.spawn(|| {
                    let image = &images["anna"];
                    let mut co = Resumable::restore(anna, image, &Options::new()).unwrap();
                    assert_eq!(co.resume(&mut (), ()), State::Complete(ANNA.into()));
                    ended.update(|ended| ended + 1);
                });
                s.spawn(|| {
                    let image = &images["bert"];
                    let mut co = Resumable::restore(bert, image, &Options::new()).unwrap();
                    assert_eq!(co.resume(&mut (), ()), State::Complete(BERT.into()));
                    ended.update(|ended| ended + 1);
                });
                ring::run();
            });
            assert_eq!(ended.get(), 2);
            YIELDS.set(false);
        }
    }
}

/// Its `Serialize` stores another coroutine, of which it writes the image.
#[derive(Deserialize)]
struct Stores(Vec<u8>);

impl Serialize for Stores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut inner, _) = Resumable::start(&mut (), anna, (None,));
        let bytes = inner.snapshot(Format::Postcard).unwrap().into_bytes();
        let image = Image::from_bytes(bytes.clone()).unwrap();
        let mut inner = Resumable::restore(anna, &image, &Options::new()).unwrap();
        assert_eq!(inner.resume(&mut (), ()), State::Complete(ANNA.into()));
        serializer.serialize_newtype_struct("Stores", &bytes)
    }
}

#[resumable]
async fn around(co: &mut Co<u32>) -> (bool, usize) {
    let first = Shared::new(1);
    let stores = Stores(Vec::new());
    let last = first.clone();
    co.suspend(1).await;
    (first.same(&last), stores.0.len().min(1))
}

#[test]
fn a_coroutine_that_is_stored_inside_another_snapshot_has_shared_values_of_its_own() {
    for format in FORMATS {
        let (mut co, _) = Resumable::start(&mut (), around, ());
        let image = co.snapshot(format).unwrap();
        let mut restored = Resumable::restore(around, &image, &Options::new()).unwrap();
        assert_eq!(restored.resume(&mut (), ()), State::Complete((true, 1)));
    }
}

/// Makes a value to share each time it is written, and drops it again.
#[derive(Clone)]
struct Fresh(u64);

impl Serialize for Fresh {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Shared::new(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fresh {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Shared::deserialize(deserializer).map(|shared| Fresh(*shared))
    }
}

#[resumable]
async fn fresh(co: &mut Co<u32>) -> Vec<u64> {
    let all: Vec<Fresh> = (0..100).map(Fresh).collect();
    co.suspend(1).await;
    all.iter().map(|fresh| fresh.0).collect()
}

#[test]
fn shared_values_that_end_while_they_are_written_are_not_taken_for_one_another() {
    let (mut co, _) = Resumable::start(&mut (), fresh, ());
    let image = co.snapshot(Format::Postcard).unwrap();
    let mut restored = Resumable::restore(fresh, &image, &Options::new()).unwrap();
    assert_eq!(restored.resume(&mut (), ()), State::Complete((0..100).collect()));
}

/// A snapshot is left for ever: the stack on which it is taken ends while a `Serialize` waits.
#[test]
fn an_exit_during_a_snapshot_goes_on_and_the_coroutine_with_it() {
    let (mut co, _) = Resumable::start(&mut (), anna, (None,));
    co.snapshot(Format::Postcard).unwrap();
    let stored = Cell::new(false);
    YIELDS.set(true);
    ring::scope(|s| {
        s.spawn(|| {
            let _ = co.snapshot(Format::Postcard);
            stored.set(true);
        });
        // It runs to its first wait, and is ended there with the scope.
        ring::yield_now();
    });
    YIELDS.set(false);
    assert!(!stored.get(), "the exit was passed on");
    assert!(!co.is_poisoned());
    let image = co.snapshot(Format::Postcard).unwrap();
    let mut restored = Resumable::restore(anna, &image, &Options::new()).unwrap();
    assert_eq!(restored.resume(&mut (), ()), State::Complete(ANNA.into()));
    assert_eq!(co.resume(&mut (), ()), State::Complete(ANNA.into()));
}

/// As above, while a type is looked at for the first time.
#[test]
fn an_exit_while_types_are_traced_goes_on() {
    #[resumable]
    async fn once(co: &mut Co<u32>) -> u32 {
        let slow = Slow(4);
        co.suspend(1).await;
        slow.0
    }
    let (mut co, _) = Resumable::start(&mut (), once, ());
    let stored = Cell::new(false);
    YIELDS.set(true);
    ring::scope(|s| {
        s.spawn(|| {
            let _ = co.snapshot(Format::Postcard);
            stored.set(true);
        });
        ring::yield_now();
    });
    YIELDS.set(false);
    assert!(!stored.get());
    assert_eq!(co.resume(&mut (), ()), State::Complete(4));
}

/// Where the shape of the first frame is in an image.
const SHAPE: std::ops::Range<usize> = 16..20;

#[test]
fn types_that_an_exit_left_untraced_have_the_same_shape_later() {
    #[resumable]
    async fn left(co: &mut Co<u32>) -> u32 {
        let (number, slow) = (7, Slow(4));
        co.suspend(1).await;
        slow.0 + number
    }
    #[resumable]
    async fn twin(co: &mut Co<u32>) -> u32 {
        let (number, slow) = (7, Slow(4));
        co.suspend(1).await;
        slow.0 + number
    }
    let (mut co, _) = Resumable::start(&mut (), left, ());
    YIELDS.set(true);
    ring::scope(|s| {
        // On a stack that has room for it.
        let roomy = Builder::new().stack_size(512 << 10);
        s.spawn_with(roomy, || drop(co.snapshot(Format::Postcard))).unwrap();
        ring::yield_now();
    });
    YIELDS.set(false);
    let shape_of = |image: Image| image.into_bytes()[SHAPE].to_vec();
    let (mut other, _) = Resumable::start(&mut (), twin, ());
    let expected = shape_of(other.snapshot(Format::Postcard).unwrap());
    assert_eq!(shape_of(co.snapshot(Format::Postcard).unwrap()), expected);
}

/// Uses up the address space, so that there is room for no thread.
fn fill_address_space() -> Vec<Vec<u8>> {
    const PIECE: usize = 1 << 20;
    let mut pieces = Vec::with_capacity(1 << 20);
    loop {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            // A piece is left for whatever is small.
            pieces.pop();
            return pieces;
        }
        pieces.push(piece);
    }
}

#[test]
#[cfg_attr(any(leno_baton, leno_asan, leno_tsan, miri), ignore = "address space cannot be limited")]
fn types_are_looked_at_or_refused_where_there_is_no_thread() {
    let test = "types_are_looked_at_or_refused_where_there_is_no_thread";
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 1000000 && exec \"$0\" \"$@\""]);
    limited.arg(std::env::current_exe().unwrap());
    if !is_child_by(limited, test) {
        return;
    }
    let (stored, later) = on_stack(64 << 10, || {
        let (mut co, _) = Resumable::start(&mut (), nested, (1,));
        let pieces = fill_address_space();
        let stored = co.snapshot(Format::Postcard).map(|image| image.depth());
        drop(pieces);
        (stored, co.snapshot(Format::Postcard).map(|image| image.into_bytes()))
    });
    let error = stored.expect_err("there is no thread").to_string();
    assert!(error.contains("bytes of stack are left, too few to look at its type"), "{error}");
    assert_eq!(later.unwrap(), nested_image(1, Format::Postcard));
}

#[test]
#[cfg_attr(any(leno_baton, miri), ignore = "stacks are those of threads")]
fn a_body_runs_on_the_stack_of_its_resumer() {
    let coroutine = Coroutine::new(|_: &Suspender<(), ()>, ()| {
        let (mut co, _) = Resumable::start(&mut (), nested, (1,));
        co.resume(&mut (), ()).complete().map(|_| stack_left().unwrap() < 64 << 10)
    });
    assert_eq!(coroutine.resume(()).finished(), Some(Some(true)));
}
