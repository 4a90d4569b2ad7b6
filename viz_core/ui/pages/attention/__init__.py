"""The Attention page: all heads, one head, one weight step by step, two runs compared, statistics, rollout and ablation."""
