/**
 * The release before the current version, which has to run beside it. To be set to the tag's commit with each release; before the first one
 * it is the last version without formats.
 */
export const PREVIOUS_RELEASE = "8d5c5257532faf022dc9f6dd85a81e783fbdb3e6";
