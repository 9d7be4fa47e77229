/** The official client walks through the lists of the OpenAI dialect in both orders while objects go. */
import { testWalks } from './walk-openai-lists.ts';

await testWalks('all');
