//@ says: borrowed data escapes outside of closure
// Another fibre, which is spawned, has a context of its own, and cannot take this one's.
fn main() {
    leno::run(|cx| {
        let (out, _inp) = leno::fibre::channel();
        cx.spawn(move |_| out.write(cx, 1));
    });
}
