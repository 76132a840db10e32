graph [
  node [ id 0 Latitude nan Longitude 1 ]
]
