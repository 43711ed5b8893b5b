//@ says: no method named `write` found for struct `In<
fn main() {
    leno::run(|cx| {
        let (_out, inp) = leno::fibre::channel::<u32>();
        inp.write(cx, 1);
    });
}
