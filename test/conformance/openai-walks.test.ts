/** The official client walks through the lists of the OpenAI dialect while objects go, in one order of each list. The soak has both. */
import { testWalks } from './walk-openai-lists.ts';

await testWalks('some');
