//@ says: cannot be sent between threads safely
//@ says: required by this bound in `isolated`
// A function's run cannot meet what is outside.
fn main() {
    let (out, _inp) = leno::fibre::channel::<u32>();
    leno::fibre::isolated(move |cx| out.write(cx, 1));
}
