"""What every adapter passes by being listed in `memtui.stores.registry.FORMATS`.

The next format needs nothing here: it is listed, and `sample-data/` holds an invented store of its
name. Whatever it can do is asked of it through `Store.refusal`, and every act that it allows is
done, shown, undone and redone.
"""
