/** A module that cannot be loaded. */
throw new Error("out of ink");
