/** What people are told who write to a smith, in place of what is between its tenant and the models. */

/** In place of everything that went wrong. */
export const FAILED_SENTENCE = 'Sorry, there is no answer at this moment. Please try again later.';
export const PAUSED_SENTENCE = 'This has to wait for somebody’s decision. The answer follows here.';
/** On the telephone, where nothing follows. */
export const PAUSED_CALL_SENTENCE = 'This has to wait for somebody’s decision. Please call again later.';
export const GREETING_SENTENCE = 'Hello! How can I help you?';
export const BOUND_SENTENCE = 'You are connected. What do you want to know?';
export const ALREADY_BOUND_SENTENCE = 'You are connected already. Just write.';
export const NEW_THREAD_SENTENCE = 'We begin anew. What do you want to know?';
export const STOPPED_SENTENCE = 'Stopped.';
export const NOTHING_TO_STOP_SENTENCE = 'There is nothing to stop.';
