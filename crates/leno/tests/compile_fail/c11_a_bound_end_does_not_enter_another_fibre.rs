//@ says: borrowed data escapes outside of closure
// It is passed on by binding it to the other fibre.
fn main() {
    leno::run(|cx| {
        let (out, _inp) = leno::fibre::channel::<u32>();
        cx.spawn_bound(out, |cx, out| {
            cx.spawn(move |cx| out.write(cx, 1));
        });
    });
}
