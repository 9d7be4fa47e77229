/** The gate's scenarios with a crash before and after each effect, and a stall before each outside of transactions. */
import { nameScenarios, orderScenarios, testScenarios, walletScenarios } from './domains-scenarios.ts';

process.env.IRONCRAFT_SIMULATION_CRASH ??= 'all';

testScenarios({ ...orderScenarios, ...walletScenarios, ...nameScenarios });
