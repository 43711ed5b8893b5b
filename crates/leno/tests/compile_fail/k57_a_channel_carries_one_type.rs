//@ says: mismatched types
fn main() {
    leno::run(|cx| {
        let (out, _inp) = leno::fibre::channel::<u32>();
        out.write(cx, "a text");
    });
}
