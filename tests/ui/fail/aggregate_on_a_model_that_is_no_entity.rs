use outbox_runtime::aggregate;

#[aggregate(root = Order, name = "order")]
pub struct Model {
    pub id: i64,
}

fn main() {}
