/** Texts of the worst shape are read with the right result. The soak has them at the size that their limits allow. */
import { testStallingTexts } from './stalling-texts.ts';

testStallingTexts({ body: 2_400_000, answer: 120_000 }, (work) => work());
