"""The endpoint clients speak to: validate, dispatch, both eras; subscriptions."""
