/** Files and stores that are deleted while they are used, more often than the gate does it. */
import { testVectorStoreRaces, useVectorStores } from '../../../../test/support/vector-stores.ts';

testVectorStoreRaces(useVectorStores(), 10);
