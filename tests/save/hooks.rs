//! A hook may return any error, those included that SeaORM returns for a missing row, also after the row was
//! written: the row is never committed without its event.

use outbox_runtime::{
    __private::{delete, save},
    OutboxConnection, SaveError, Tx, TxError,
    prelude::*,
};
use sea_orm::DbErr;

use crate::{
    models::{
        self,
        guarded::{ERRORS, Guarded, error_named, nested::Nested, plain::Plain, versioned::Versioned},
        tally::Tally,
    },
    support::{Failed, TestDb, each_database},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Insert,
    Update,
    Delete,
}

const REFUSALS: [(Op, &str); 6] = [
    (Op::Insert, "before_save"),
    (Op::Insert, "after_save"),
    (Op::Update, "before_save"),
    (Op::Update, "after_save"),
    (Op::Delete, "before_delete"),
    (Op::Delete, "after_delete"),
];

/// `stored` is the root with id 1, saved.
async fn attempt<A: Guarded, C: OutboxConnection>(op: Op, orders: &str, stored: &A, db: &C) -> SaveError {
    let mut root = if op == Op::Insert { A::open(2, orders) } else { stored.clone() };
    if op != Op::Insert {
        root.touch(orders);
    }
    let before = format!("{:?}", root.__parts().1.pending());
    let error = match op {
        Op::Delete => delete(&mut root, db).await.map(drop),
        _ => save(&mut root, db).await.map(drop),
    };
    assert_eq!(format!("{:?}", root.__parts().1.pending()), before, "the events are kept");
    error.unwrap_err()
}

async fn prepare<A: Guarded>(db: &TestDb) -> A {
    models::create_tables(db).await;
    db.create_table(A::Entity::default()).await;
    db.run("CREATE TABLE notes (id integer)").await;
    let mut stored = A::open(1, "");
    save(&mut stored, &db.conn).await.unwrap();
    stored
}

/// Nothing but what `prepare` stored.
async fn assert_untouched<A: Guarded>(db: &TestDb, case: &str) {
    assert_eq!(db.stored(A::TABLE).await, [1; 4], "{case}");
    assert_eq!(db.count(&format!("SELECT count(*) FROM {} WHERE orders = ''", A::TABLE)).await, 1, "{case}");
    assert_eq!((db.rows("notes").await, db.rows("tallies").await), (0, 0), "{case}");
}

async fn a_hooks_error_is_its_own<A: Guarded>(db: TestDb) {
    let stored = prepare::<A>(&db).await;
    for (op, hook) in REFUSALS {
        for error in ERRORS {
            let case = &format!("{} {op:?} {hook} {error}", A::TABLE);
            let orders = &format!("{hook} {error}");
            let assert_hooks = |met: SaveError| match met {
                SaveError::Db { source, .. } => assert_eq!(source, error_named(error), "{case}"),
                other => panic!("{case}: {other:?}"),
            };

            assert_hooks(attempt(op, orders, &stored, &db.conn).await);
            assert_untouched::<A>(&db, case).await;

            let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
                Tally::open(1, 0).save(tx).await?;
                assert_hooks(attempt(op, orders, &stored, tx).await);
                Ok(())
            })
            .await;
            assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{case}: {outcome:?}");
            assert_untouched::<A>(&db, case).await;

            let tx = db.begin().await;
            assert_hooks(attempt(op, orders, &stored, &tx).await);
            tx.commit().await.unwrap();
            assert_untouched::<A>(&db, case).await;
        }
    }
}

each_database! {
    async fn a_hooks_error_on_a_plain_root_is_its_own_and_nothing_is_committed(db: TestDb) {
        a_hooks_error_is_its_own::<Plain>(db).await;
    }
}

each_database! {
    async fn a_hooks_error_on_a_versioned_root_is_its_own_and_nothing_is_committed(db: TestDb) {
        a_hooks_error_is_its_own::<Versioned>(db).await;
    }
}

each_database! {
    async fn a_hooks_error_on_a_nested_root_is_its_own_and_nothing_is_committed(db: TestDb) {
        a_hooks_error_is_its_own::<Nested>(db).await;
    }
}

/// The row is not there, and the hook that runs before this is seen has written something.
async fn what_a_hook_wrote_for_a_missing_row<A: Guarded>(db: TestDb) {
    drop(prepare::<A>(&db).await);
    for (op, orders) in [(Op::Update, "before_save note"), (Op::Delete, "before_delete note")] {
        let ghost = A::ghost(9, orders);
        let outcome = transact(&db.conn, TxPolicy::default().max_attempts(1), async |tx: &Tx| -> Result<(), Failed> {
            Tally::open(1, 0).save(tx).await?;
            let error = attempt(op, orders, &ghost, tx).await;
            assert!(matches!(error, SaveError::NotFound { .. } | SaveError::Conflict { .. }), "{op:?}: {error:?}");
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{op:?}: {outcome:?}");
        assert_untouched::<A>(&db, orders).await;
        let tx = db.begin().await;
        attempt(op, orders, &ghost, &tx).await;
        tx.commit().await.unwrap();
        assert_untouched::<A>(&db, orders).await;
    }
}

each_database! {
    async fn what_a_hook_wrote_for_a_missing_plain_row_is_not_committed(db: TestDb) {
        what_a_hook_wrote_for_a_missing_row::<Plain>(db).await;
    }
}

each_database! {
    async fn what_a_hook_wrote_for_a_missing_versioned_row_is_not_committed(db: TestDb) {
        what_a_hook_wrote_for_a_missing_row::<Versioned>(db).await;
    }
}

each_database! {
    async fn after_delete_does_not_run_for_a_row_that_was_not_there(db: TestDb) {
        drop(prepare::<Plain>(&db).await);
        let mut ghost = Plain::ghost(9, "after_delete Custom");
        assert!(matches!(ghost.delete(&db.conn).await, Err(SaveError::NotFound { .. })));
        ghost.discard();
    }
}

each_database! {
    async fn hooks_that_write_do_so_with_the_row(db: TestDb) {
        let mut stored = prepare::<Plain>(&db).await;
        for (nth, orders) in (1..).zip(["before_save note", "after_save note"]) {
            stored.touch(orders);
            stored.save(&db.conn).await.unwrap();
            assert_eq!(db.rows("notes").await, nth);
        }
        stored.touch("before_delete note");
        stored.delete(&db.conn).await.unwrap();
        assert_eq!(db.rows("notes").await, 3);
        assert_eq!(db.stored("guarded_plain").await, [0, 4, 4, 1]);
    }
}

each_database! {
    async fn a_nested_row_is_not_found_only_if_it_is_not_there(db: TestDb) {
        let stored = prepare::<Nested>(&db).await;
        let orders = "before_save RecordNotUpdated";
        let error = attempt(Op::Update, orders, &stored, &db.conn).await;
        assert!(matches!(error, SaveError::Db { source: DbErr::RecordNotUpdated, .. }), "{error:?}");
        let ghost = Nested::ghost(9, "");
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            Tally::open(1, 0).save(tx).await?;
            let error = attempt(Op::Update, "", &ghost, tx).await;
            assert!(matches!(error, SaveError::NotFound { .. }), "{error:?}");
            Ok(())
        })
        .await
        .unwrap();
        let error = attempt(Op::Delete, "", &ghost, &db.conn).await;
        assert!(matches!(error, SaveError::NotFound { .. }), "{error:?}");
        assert_eq!((db.rows("tallies").await, db.rows("guarded_nested").await), (1, 1));
    }
}
