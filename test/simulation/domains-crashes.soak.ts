/** The gate's scenarios with a crash before and after each effect, and a stall before each outside of transactions. */
import { nameScenarios, orderScenarios, walletScenarios } from './domains-scenarios.ts';
import { testScenarios } from './run-scenario.ts';

testScenarios({ ...orderScenarios, ...walletScenarios, ...nameScenarios }, 'all');
