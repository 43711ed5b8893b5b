//@ says: lifetime may not live long enough
// What a fibre returns outlives it.
fn main() {
    leno::run(|cx| {
        let (out, _inp) = leno::fibre::channel::<u32>();
        cx.spawn_stackless_bound(out, async |_cx, out| out);
    });
}
